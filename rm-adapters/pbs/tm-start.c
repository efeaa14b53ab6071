/* SPDX-License-Identifier: BSD-3-Clause */
/* tm-start.c - starters as tasks of the job, which the pbs_mom of each host starts
 *
 * mprun posts the start parameters with its own pbs_mom under the job's cookie (POSTINFO), asks for
 * a task on each host, all at once (SPAWN), and then to be told of the end of each (OBIT). A task
 * gets the parameters from its own pbs_mom (GETINFO); they are in no argument and no environment.
 * TM's standard input and output are not used: they lose data.
 *
 * Torque from 6.1 on frees what is posted at once, and its pbs_mom dies of that. There the start
 * parameters are in the task's environment, which its user alone can read, as it can the cookie.
 *
 * "Spawned" says only that pbs_mom has forked. A program that cannot be executed ends with 254. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "rm-adapters/pbs/pbs-private.h"
#include "rm-adapters/pbs/tm-link.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "rm-adapters/tunables.h"

enum {
    CANNOT_EXECUTE = 254,
    PREAMBLE_TEXT = sizeof(TM_PREAMBLE_VARIABLE "=") + (size_t)2 * START_PREAMBLE_MAX,
};

struct task {
    uint32_t id; /* 0: it does not run */
    bool is_wanted, is_asked, is_agent, is_open, has_ended, has_reported, has_left, is_given_up;
};

struct starting {
    struct start_request request;
    struct tm_job job;
    uint32_t own_node, nlines; /* of PBS_NODEFILE */
    struct tm_link *link;      /* NULL: closed */
    char name[64];             /* of the posted information */
    uint32_t posted_by;        /* the task that pbs_mom keeps it for */
    struct loop_defer turn;
    struct loop_timer answer_timer; /* INIT, POSTINFO and SPAWN have an answer */
    struct loop_timer obit_timer;   /* and OBIT of a host that has left */
    size_t nawaited;                /* answers */
    int tries;                      /* to get a first answer */
    struct error first_why;         /* why the first one failed */
    struct error lost;              /* why there is no link any more */
    char preamble[PREAMBLE_TEXT];   /* Torque: the variable with the start parameters */
    bool has_begun, has_answered, is_cancelled, is_obit_late, may_spawn;
    size_t next; /* no host before it is wanted */
    size_t nhosts;
    struct task tasks[]; /* by host */
};

void tm_start_describe(const struct start_request *request, const struct alloc_host *host,
                       char *buf, size_t n)
{
    snprintf(buf, n, "by pbs_mom, as a task on node %u: %s", host->manager_number,
             request->remote_path);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void starting_free(struct starting *s)
{
    loop_defer_stop(&s->turn);
    loop_timer_stop(&s->answer_timer);
    loop_timer_stop(&s->obit_timer);
    tm_link_close(s->link);
    explicit_bzero(s->preamble, sizeof(s->preamble));
    free(s);
}

static void send_event(struct starting *s, size_t host, enum start_event event, int status,
                       const struct error *err)
{
    static const struct start_channel channel = {.in_fd = -1, .out_fd = -1, .err_fd = -1};
    s->tasks[host].is_open = event == START_CHANNEL_OPEN;
    s->tasks[host].has_ended = event != START_CHANNEL_OPEN;
    s->request.event(s->request.arg, host, event, event == START_CHANNEL_OPEN ? &channel : NULL,
                     status, err);
}

/* Nothing more can be learned of the tasks: those that were not begun have failed, and the others
 * end with their links. */
static void lose_mom(struct starting *s, const struct error *why)
{
    tm_link_close(take_ptr(s->link));
    loop_timer_stop(&s->answer_timer);
    s->lost = *why;
    error_context(&s->lost, "start the starters by pbs_mom");
    loop_defer_schedule(&s->turn);
    bool is_said = false;
    for (size_t i = 0; i < s->nhosts; i++) {
        struct task *t = &s->tasks[i];
        if (t->has_ended || t->is_agent || !t->is_asked)
            continue;
        if (t->has_reported) {
            if (!is_said)
                log_warn("pbs_mom will not tell of the end of mprun's tasks: %s", why->text);
            is_said = true;
        } else {
            send_event(s, i, START_FAILED, 0, &s->lost);
        }
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The first two silences may be for want of the right dialect. */
static void await_answer(struct starting *s)
{
    bool is_short = !s->has_answered && !s->job.is_torque && s->tries < 2;
    loop_timer_start(&s->answer_timer, is_short ? TM_FIRST_ANSWER_SECONDS : TM_ANSWER_SECONDS, 0);
}

/* Sends what was made, unless making it has failed, and frees it. */
static int send_request(struct starting *s, struct buffer *request, int rc, bool is_awaited,
                        struct error *err)
{
    if (rc == 0)
        rc = tm_link_send(s->link, request, err);
    if (request->data)
        explicit_bzero(request->data, request->cap);
    buffer_free(request);
    if (rc == 0 && is_awaited) {
        s->nawaited++;
        await_answer(s);
    }
    return rc;
}

static int ask_init(struct starting *s, struct error *err)
{
    struct buffer b = {.data = NULL};
    tm_request_begin(&b, &s->job, tm_event(0, TM_INIT));
    return send_request(s, &b, tm_request_finish(&b, &s->job, err), true, err);
}

static int ask_post(struct starting *s, struct error *err)
{
    uint8_t preamble[START_PREAMBLE_MAX];
    struct buffer b = {.data = NULL};
    int n = s->request.preamble(s->request.arg, preamble, err);
    int rc = n < 0 ? -1
                   : tm_request_post(&b, &s->job, tm_event(0, TM_POSTINFO), s->name, preamble,
                                     (size_t)n, err);
    explicit_bzero(preamble, sizeof(preamble));
    return send_request(s, &b, rc, true, err);
}

/* The same for all hosts. 0, or -1 with err. */
static int write_preamble(struct starting *s, struct error *err)
{
    uint8_t preamble[START_PREAMBLE_MAX];
    char *end = stpcpy(s->preamble, TM_PREAMBLE_VARIABLE "=");
    int n = s->request.preamble(s->request.arg, preamble, err);
    for (int i = 0; i < n; i++)
        end += sprintf(end, "%02x", preamble[i]);
    explicit_bzero(preamble, sizeof(preamble));
    return n < 0 ? -1 : 0;
}

static int ask_spawn(struct starting *s, size_t host, struct error *err)
{
    const struct alloc_host *h = &s->request.allocation->hosts[host];
    char where[200];
    const char *environment[4] = {where};
    size_t n = 1;
    if (s->job.is_torque)
        environment[n++] = s->preamble;
    if (s->request.is_agent(s->request.arg, host))
        environment[n++] = START_AS_AGENT "=1";
    struct buffer b = {.data = NULL};
    snprintf(where, sizeof(where), TM_START_VARIABLE "=%zu %u %u %d %s", host, s->own_node,
             s->posted_by, s->job.is_framed, s->name);
    int rc = tm_request_spawn(&b, &s->job, tm_event((uint32_t)host, TM_SPAWN), h->manager_number,
                              s->request.remote_path, environment, err);
    return send_request(s, &b, rc, true, err);
}

static int ask_of_task(struct starting *s, size_t host, enum tm_kind kind, int signo,
                       struct error *err)
{
    struct buffer b = {.data = NULL};
    int rc = tm_request_task(&b, &s->job, tm_event((uint32_t)host, kind),
                             s->request.allocation->hosts[host].manager_number, s->tasks[host].id,
                             signo, err);
    return send_request(s, &b, rc, false, err);
}

static void signal_task(struct starting *s, size_t host, int signo)
{
    struct error e;
    if (s->link && s->tasks[host].id && !s->tasks[host].has_ended &&
        ask_of_task(s, host, TM_SIGNAL, signo, &e) < 0)
        log_debug("host %s: %s", s->request.allocation->hosts[host].name, e.text);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer_failed(struct starting *s, const struct tm_answer *a, const char *what)
{
    struct error e;
    error_set(&e, EPROTO, "pbs_mom refuses to %s: error %d, %s", what, a->error,
              tm_error_text(a->error));
    lose_mom(s, &e);
}

static void fail_host(struct starting *s, size_t host, int code, const char *why)
{
    struct error e;
    error_set(&e, code, "start the starter of host '%s': %s",
              s->request.allocation->hosts[host].name, why);
    send_event(s, host, START_FAILED, 0, &e);
}

/* *ret was one of those that are wanted; false: none is. */
static bool take_wanted(struct starting *s, size_t *ret)
{
    for (; s->next < s->nhosts; s->next++) {
        struct task *t = &s->tasks[s->next];
        bool is_wanted = t->is_wanted && !s->request.is_elsewhere(s->request.arg, s->next);
        t->is_wanted = false;
        *ret = s->next;
        if (is_wanted)
            return true;
    }
    return false;
}

/* No more at once than pbs_mom's socket takes in whole pieces. */
static void spawn_some(struct starting *s)
{
    size_t at_once = s->job.is_torque ? TM_SPAWNS_OF_TORQUE_AT_ONCE : TM_SPAWNS_AT_ONCE, host;
    struct error e;
    while (s->link && s->may_spawn && s->nawaited < at_once && take_wanted(s, &host)) {
        s->tasks[host].is_asked = true;
        if (ask_spawn(s, host, &e) < 0)
            lose_mom(s, &e);
    }
}

/* The hosts that were not asked for: the start was cancelled. */
static void cancel_rest(struct starting *s)
{
    size_t host;
    while (take_wanted(s, &host))
        fail_host(s, host, ECANCELED, "not begun, because the start was cancelled");
}

/* Those that are wanted after pbs_mom was lost. */
static void fail_rest(struct starting *s)
{
    size_t host;
    while (take_wanted(s, &host))
        send_event(s, host, START_FAILED, 0, &s->lost);
}

static void spawned(struct starting *s, size_t host, const struct tm_answer *a)
{
    struct task *t = &s->tasks[host];
    struct error e;
    char why[160];
    if (a->error || a->value <= 0 || a->value > UINT32_MAX) {
        snprintf(why, sizeof(why), "pbs_mom starts no task there: error %d, %s", a->error,
                 tm_error_text(a->error));
        fail_host(s, host, EPROTO, why);
        return;
    }
    t->id = (uint32_t)a->value;
    if (t->is_agent) { /* it was faster than the news of its start */
        t->has_ended = true;
        return;
    }
    send_event(s, host, START_CHANNEL_OPEN, 0, NULL);
    if (s->is_cancelled)
        signal_task(s, host, SIGTERM);
    if (ask_of_task(s, host, TM_OBIT, 0, &e) < 0)
        lose_mom(s, &e);
}

static void task_ended(struct starting *s, size_t host, const struct tm_answer *a)
{
    static const char words[] = "PBS could not execute it there; install mprun in the same place "
                                "on all hosts, or say with --prefix where it is\n";
    if (a->error) {
        log_debug("host %s: its pbs_mom tells nothing of its task: error %d, %s",
                  s->request.allocation->hosts[host].name, a->error, tm_error_text(a->error));
        return;
    }
    if (a->value == CANNOT_EXECUTE && !s->tasks[host].has_reported)
        s->request.said(s->request.arg, host, words, sizeof(words) - 1);
    send_event(s, host, START_CHANNEL_ENDED, tm_wait_status(a->value), NULL);
}

static void initialized(struct starting *s, const struct tm_answer *a)
{
    struct error e;
    if (a->error) {
        answer_failed(s, a, "serve the job");
    } else if (a->value != s->nlines) {
        error_set(&e, EPROTO,
                  "pbs_mom counts %lld nodes in the job, and PBS_NODEFILE has %u lines: set it to "
                  "the file that PBS has made; --host chooses hosts of it",
                  (long long)a->value, s->nlines);
        lose_mom(s, &e);
    } else if (s->job.is_torque) {
        s->may_spawn = write_preamble(s, &e) == 0;
        if (s->may_spawn)
            spawn_some(s);
        else
            lose_mom(s, &e);
    } else if (ask_post(s, &e) < 0) {
        lose_mom(s, &e);
    }
}

static void posted(struct starting *s, const struct tm_answer *a)
{
    s->posted_by = s->job.task;
    if (a->error) {
        answer_failed(s, a, "keep the start parameters");
        return;
    }
    s->may_spawn = true;
    spawn_some(s);
}

static void answered(void *arg, const struct tm_answer *a)
{
    struct starting *s = arg;
    enum tm_kind kind = tm_event_kind(a->event);
    size_t host = tm_event_object(a->event);
    s->has_answered = true;
    if (host >= s->nhosts || s->tasks[host].has_ended)
        return;
    if (kind == TM_OBIT && s->tasks[host].is_open)
        task_ended(s, host, a);
    if (kind == TM_OBIT || kind == TM_SIGNAL || s->tasks[host].is_open)
        return;
    s->nawaited--;
    if (s->nawaited)
        await_answer(s);
    else
        loop_timer_stop(&s->answer_timer);
    if (kind == TM_SPAWN) {
        loop_defer_schedule(&s->turn);
        spawned(s, host, a);
    } else if (kind == TM_INIT) {
        initialized(s, a);
    } else if (kind == TM_POSTINFO) {
        posted(s, a);
    }
}

static void closed(void *arg, const struct error *why);

static const struct tm_link_events link_events = {.answered = answered, .closed = closed};

static int open_link(struct starting *s, struct error *err)
{
    s->link = tm_link_open(s->request.loop, &s->job, &link_events, s, err);
    return s->link && ask_init(s, err) == 0 ? 0 : -1;
}

/* Without an answer so far. A pbs_mom of before version 20 does not understand packets; one that is
 * busy may only need more time, so packets are tried twice where both dialects met silence. */
static void give_up(struct starting *s, const struct error *why)
{
    struct error e = *why;
    bool again = s->tries == 0 ||
                 (s->tries == 1 && why->code == ETIMEDOUT && s->first_why.code == ETIMEDOUT);
    if (s->has_answered || s->job.is_torque || !again) {
        lose_mom(s, s->tries && !s->has_answered ? &s->first_why : &e);
        return;
    }
    if (s->tries++ == 0)
        s->first_why = *why;
    s->job.is_framed = !s->job.is_framed;
    log_debug("%s; it is asked %s", why->text,
              s->job.is_framed ? "once more" : "without packets, as one of before version 20");
    s->nawaited = 0;
    tm_link_close(s->link);
    if (open_link(s, &e) < 0)
        lose_mom(s, &e);
}

static void closed(void *arg, const struct error *why)
{
    give_up(arg, why);
}

/* It has lost requests for tasks, or those on other hosts do not answer it. */
static void fail_silent_hosts(struct starting *s)
{
    s->nawaited = 0;
    loop_defer_schedule(&s->turn);
    for (size_t i = 0; i < s->nhosts; i++) {
        const struct task *t = &s->tasks[i];
        if (t->is_asked && !t->is_agent && !t->is_open && !t->has_ended)
            fail_host(s, i, ETIMEDOUT, "pbs_mom gives no answer to the request for a task there");
    }
}

static void no_answer(void *arg)
{
    struct starting *s = arg;
    struct error e;
    if (s->may_spawn) {
        fail_silent_hosts(s);
        return;
    }
    error_set(&e, ETIMEDOUT, "pbs_mom gives no answer");
    give_up(s, &e);
}

/* ---- the turn -------------------------------------------------------------------------------- */

static bool any_wanted(const struct starting *s)
{
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->tasks[i].is_wanted && !s->request.is_elsewhere(s->request.arg, i))
            return true;
    return false;
}

static void begin(struct starting *s)
{
    struct error e;
    s->has_begun = true;
    if (open_link(s, &e) < 0)
        lose_mom(s, &e);
}

static void turn(void *arg)
{
    struct starting *s = arg;
    if (s->is_cancelled)
        cancel_rest(s);
    if (!s->has_begun && any_wanted(s))
        begin(s);
    for (size_t i = 0; i < s->nhosts; i++) {
        const struct task *t = &s->tasks[i];
        bool is_over = t->is_given_up || (t->has_left && (!s->link || s->is_obit_late));
        if (t->is_open && !t->has_ended && is_over)
            send_event(s, i, START_CHANNEL_ENDED, t->is_given_up ? SIGKILL : 0, NULL);
    }
    if (s->has_begun && !s->link)
        fail_rest(s);
    spawn_some(s);
}

/* pbs_mom has lost the request, or the answer: links have told of the end. */
static void obit_is_late(void *arg)
{
    struct starting *s = arg;
    log_debug("pbs_mom tells nothing of tasks whose links have ended");
    s->is_obit_late = true;
    turn(s);
}

struct starting *tm_start(const struct start_request *request, struct error *err)
{
    size_t n = request->allocation->nhosts;
    struct starting *s = must(calloc(1, sizeof(*s) + n * sizeof(s->tasks[0])));
    s->request = *request;
    s->nhosts = n;
    s->own_node = pbs_own_node(&s->nlines);
    snprintf(s->name, sizeof(s->name), "mprun-%d-%lld", (int)getpid(),
             (long long)(loop_now() * 1000));
    loop_defer_init(&s->turn, request->loop, turn, s);
    loop_timer_init(&s->answer_timer, request->loop, no_answer, s);
    loop_timer_init(&s->obit_timer, request->loop, obit_is_late, s);
    if (tm_job_read(&s->job, err) < 0) {
        starting_free(s);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        tm_start_retry(s, i);
    return s;
}

void tm_start_retry(struct starting *s, size_t host)
{
    s->tasks[host] = (struct task){.is_wanted = true};
    if (host < s->next)
        s->next = host;
    loop_defer_schedule(&s->turn);
}

bool tm_start_hand_over(struct starting *s, size_t host, int *ret_fd)
{
    struct task *t = &s->tasks[host];
    *ret_fd = -1;
    t->is_agent = true;
    t->has_ended = t->is_open;
    return true;
}

/* Starters that have reported back are told by their links. */
void tm_start_cancel(struct starting *s)
{
    s->is_cancelled = true;
    for (size_t i = 0; i < s->nhosts; i++)
        if (!s->tasks[i].has_reported)
            signal_task(s, i, SIGTERM);
    loop_defer_schedule(&s->turn);
}

void tm_start_reported(struct starting *s, size_t host)
{
    s->tasks[host].has_reported = true;
}

void tm_start_left(struct starting *s, size_t host)
{
    s->tasks[host].has_left = true;
    loop_timer_start(&s->obit_timer, TM_ANSWER_SECONDS, 0);
    loop_defer_schedule(&s->turn);
}

void tm_start_abandon(struct starting *s, size_t host)
{
    signal_task(s, host, SIGKILL);
    s->tasks[host].is_given_up = true;
    loop_defer_schedule(&s->turn);
}

void tm_start_destroy(struct starting *s)
{
    if (s)
        starting_free(s);
}
