/* SPDX-License-Identifier: BSD-3-Clause */
/* ask-other-steps.c - hosts on which the resource manager has no room for one more task of the job
 *
 * Another mprun of the job has its task there. Those of this machine are asked, by their control
 * sockets, to have their starter start ours (errands.c); it reports to us as any other
 * does, and nobody else is needed then. Where none can, the manager is asked again later, until
 * there is room or --start-timeout is over. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/tunables.h"
#include "launcher/socket-directory.h"
#include "launcher/start/starter-private.h"
#include "wire/transport/address.h"
#include "wire/transport/dial.h"

/* The part that another mprun has in the start of a host. */
enum standing {
    MAY_BE_ASKED,
    OWES_ANSWER, /* it is not asked again before that */
    HAS_FAILED,  /* what it has started came to nothing */
};

/* Another mprun. It stays in the list when it is dead: hosts may have it as the one asked last. */
struct neighbour {
    struct neighbour *next;
    struct other_steps *others;
    const char *step;
    char path[292]; /* with "/control" 300 */
    int dead;
    int willing; /* it is of our job: it may have our step's key */
    int foreign; /* it never starts anything for us */
    struct dial *dial;
    struct link *link;
    struct loop_timer timer;
    unsigned char of[]; /* enum standing, by launch_index */
};

/* The wait of a host for another mprun. */
struct waiting {
    struct starter *starter;
    struct host *host;
    struct room *room;        /* the starter's */
    struct neighbour *asked;  /* to have it started; no answer yet */
    struct neighbour *handed; /* has it started; no HELLO yet */
    double asked_at;          /* loop_now() */
    bool has_asked_agents;    /* one of the job's that is idle may have had the host's task */
    char refusal[400];        /* the manager's words */
    char failure[600]; /* of what another step's starter has started; "": nothing has failed */
};

static void ask(struct waiting *w);
static void send_hand(struct neighbour *n, struct waiting *w);

/* ---- waiting for room ------------------------------------------------------------------------ */

static void retry_due(void *arg)
{
    struct other_steps *g = arg;
    const struct starters_step *step = g->step;
    bool more = false;
    for (size_t i = 0; i < step->plan->nused; i++) {
        struct waiting *w = &g->of[i];
        if (w->host->link && w->room->waits &&
            !verdict_is_ending(step->verdict)) { /* its HELLO comes */
            more = true;
            continue;
        }
        if (w->room->waits && g->starters->starting)
            starter_retry(w->starter);
        w->room->waits = 0;
    }
    if (more)
        loop_timer_start(&g->retry, ROOM_RETRY_SECONDS, 0);
}

/* Once, with the first host of which it is so. */
static void tell(const struct waiting *w)
{
    const struct starters_step *step = &w->starter->all->step;
    struct other_steps *g = &w->starter->all->other_steps;
    const char *why = g->obstacle;
    if (g->told++ > 0)
        return;
    log_note("host %s: %s has no room for one more task of the job%s%s%s: this is tried again "
             "until another mprun of the job has ended, or for %.0f s (--start-timeout)",
             w->host->name, step->plan->adapter->name, *why ? " (" : "", why, *why ? ")" : "",
             step->plan->cmd->start_timeout);
}

static void wait_for_room(struct waiting *w)
{
    const struct starters_step *step = &w->starter->all->step;
    struct other_steps *g = &w->starter->all->other_steps;
    w->asked = NULL;
    w->room->waits = 1;
    bool may_come = !w->has_asked_agents && agents_make_room(w->starter);
    w->has_asked_agents = true;
    if (!may_come && !verdict_is_ending(step->verdict))
        tell(w);
    if (!loop_timer_is_active(&g->retry) ||
        verdict_is_ending(step->verdict)) /* it is told that it was cancelled */
        loop_timer_start(&g->retry, verdict_is_ending(step->verdict) ? 0 : ROOM_RETRY_SECONDS, 0);
}

/* ---- what another mprun says ----------------------------------------------------------------- */

/* The client that was started last has come to nothing. A starter that may be another's, and is
 * there already, is left alone. */
static void forget(struct waiting *w)
{
    if (!w->host->link || !w->room->stray) {
        starter_forget(w->starter);
        return;
    }
    start_channel_close_input(w->starter); /* its client is told nothing more */
    client_stderr_close(&w->starter->said);
    host_enter(w->host, AGENT_WAITING);
}

/* It could not do what it was asked for. */
static void lost(struct waiting *w, const char *why)
{
    char said[500];
    client_stderr_take_reason(&w->starter->said, said, sizeof(said));
    snprintf(w->failure, sizeof(w->failure), "the starter of step %.20s has started it, and %s%s%s",
             w->room->lender, why, *said ? ": " : "", said);
    log_debug("host %s: %s", w->host->name, w->failure);
    starter_client_ends(w->starter);
    w->handed = NULL;
    if (!w->host->link)
        w->room->lender[0] = 0;
    forget(w);
    wait_for_room(w);
}

static void dies(struct neighbour *n, const char *why)
{
    const struct starters_step *step = n->others->step;
    log_debug("step %s takes nothing over: %s", n->step, why);
    n->dead = 1;
    n->willing = 0;
    n->others->nopen--;
    loop_timer_stop(&n->timer);
    dial_destroy(n->dial);
    link_destroy(n->link);
    n->dial = NULL;
    n->link = NULL;
    for (size_t i = 0; i < step->plan->nused; i++) {
        struct waiting *w = &n->others->of[i];
        w->room->stray |= n->of[i] == OWES_ANSWER || w->handed == n;
        if (n->of[i] == OWES_ANSWER)
            n->of[i] = MAY_BE_ASKED;
        if (w->asked == n)
            ask(w);
        else if (w->handed == n)
            lost(w, why);
    }
    loop_defer_schedule(step->turn);
}

/* The starter of that host, or that mprun, is stopped. */
static void too_slow(void *arg)
{
    struct neighbour *n = arg;
    const struct starters_step *step = n->others->step;
    int awaited = 0;
    for (size_t i = 0; i < step->plan->nused; i++) {
        struct waiting *w = &n->others->of[i];
        if (w->asked != n)
            continue;
        if (loop_now() - w->asked_at < NEIGHBOUR_SECONDS * 0.9) {
            awaited = 1;
            continue;
        }
        log_debug("host %s: step %s gives no answer", w->host->name, n->step);
        w->room->stray = 1;
        ask(w);
    }
    if (awaited)
        loop_timer_start(&n->timer, NEIGHBOUR_SECONDS, 0);
    loop_defer_schedule(step->turn);
}

static void is_handed(struct neighbour *n, struct waiting *w)
{
    snprintf(w->room->lender, sizeof(w->room->lender), "%s", n->step);
    log_debug("host %s: handed to the starter of step %s", w->host->name, n->step);
}

static void accepted(struct neighbour *n, struct waiting *w)
{
    w->asked = NULL;
    w->room->waits = 0;
    w->handed = n;
    starter_client_begins(w->starter, 0, false);
    client_stderr_open(&w->starter->said, w->starter->all->step.loop, w->host,
                       w->starter->all->step.failures, -1);
    is_handed(n, w);
}

static void refused(struct neighbour *n, struct waiting *w, const Mprun__ErrandNews *m)
{
    if (w->asked != n) /* too late */
        return;
    log_debug("host %s: not handed to the starter of step %s: %.*s", w->host->name, n->step,
              (int)m->text.len, (const char *)m->text.data);
    ask(w);
}

static void is_foreign(struct neighbour *n, const struct waiting *w, const Mprun__ErrandNews *m)
{
    struct other_steps *g = n->others;
    char why[200];
    snprintf(why, sizeof(why), "%.*s", (int)m->text.len, (const char *)m->text.data);
    n->foreign = 1;
    if (m->what == ERRAND_NEVER && !g->obstacle[0]) {
        snprintf(g->obstacle, sizeof(g->obstacle), "step %.20s there cannot start it: %s", n->step,
                 why);
        if (g->told) /* too late to be said then */
            log_note("host %s: %s", w->host->name, g->obstacle);
    }
    memset(n->of, MAY_BE_ASKED, n->others->step->plan->nused); /* it has started nothing */
    dies(n, why);
}

/* Ask again for a host that still waits, if the first question came too late. */
static void is_willing(struct neighbour *n, struct waiting *w)
{
    n->willing = 1;
    if (w->room->waits && !w->host->link && !verdict_is_ending(w->starter->all->step.verdict)) {
        w->room->waits = 0;
        w->asked = n;
    }
    if (w->asked == n)
        send_hand(n, w);
}

static void take_answer(struct neighbour *n, struct waiting *w, const Mprun__ErrandNews *m)
{
    n->of[w->host->launch_index] = MAY_BE_ASKED;
    if (m->what == ERRAND_NEVER || m->what == ERRAND_STRANGER)
        is_foreign(n, w, m);
    else if (m->what == ERRAND_WILLING)
        is_willing(n, w);
    else if (m->what == ERRAND_REFUSED)
        refused(n, w, m);
    else if (m->what == ERRAND_STARTED &&
             (w->asked == n ||
              (w->room->waits && !verdict_is_ending(w->starter->all->step.verdict))))
        accepted(n, w);
}

static void take_end(struct neighbour *n, struct waiting *w)
{
    n->of[w->host->launch_index] = HAS_FAILED;
    lost(w, "it has ended");
}

static int take_news(struct neighbour *n, const Mprun__ErrandNews *m)
{
    const struct starters_step *step = n->others->step;
    if (m->id >= step->plan->nused)
        return -1;
    struct waiting *w = &n->others->of[m->id];
    if (n->of[m->id] == OWES_ANSWER)
        take_answer(n, w, m);
    else if (w->handed == n && m->what == ERRAND_SAID)
        client_stderr_add(&w->starter->said, m->text.data, m->text.len);
    else if (w->handed == n && (m->what == ERRAND_ENDED || m->what == ERRAND_REFUSED))
        take_end(n, w);
    loop_defer_schedule(step->turn);
    return 0;
}

static void neighbour_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                            size_t size)
{
    struct neighbour *n = arg;
    Mprun__ErrandNews *m =
        type == FRAME_ERRAND_NEWS ? mprun__errand_news__unpack(NULL, size, p) : NULL;
    int known = m && take_news(n, m) == 0;
    mprun__errand_news__free_unpacked(m, NULL);
    if (!known)
        dies(n, "protocol error");
}

static void neighbour_closed(void *arg, struct link *l, const struct error *why)
{
    dies(arg, why->text);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* The key is for who has said that it is of the job. */
static void send_hand(struct neighbour *n, struct waiting *w)
{
    const struct starters_step *step = &w->starter->all->step;
    uint8_t packed[PREAMBLE_MAX];
    struct error e;
    Mprun__Hand m = MPRUN__HAND__INIT;
    int len = n->willing ? start_preamble(w->starter, 0, packed, &e) : 0;
    m.id = (uint32_t)w->host->launch_index;
    m.version = PACKAGE_VERSION;
    m.adapter = (char *)(uintptr_t)step->plan->adapter->name;
    m.job = (char *)(uintptr_t)step->plan->alloc.job_id;
    m.host = bytes_of(w->host->name);
    m.input = (ProtobufCBinaryData){.data = packed, .len = len < 0 ? 0 : (size_t)len};
    link_send(n->link, FRAME_HAND, &m.base);
    explicit_bzero(packed, sizeof(packed));
    n->of[w->host->launch_index] = OWES_ANSWER;
    w->asked_at = loop_now();
    if (!loop_timer_is_active(&n->timer))
        loop_timer_start(&n->timer, NEIGHBOUR_SECONDS, 0);
}

static void connected(void *arg, int fd, const struct error *why)
{
    static const struct link_events events = {.frame = neighbour_frame, .closed = neighbour_closed};
    struct link_options trusted = {.role = LINK_TRUSTED};
    struct neighbour *n = arg;
    const struct starters_step *step = n->others->step;
    struct error e;
    if (fd >= 0 && !address_is_peer_of(fd, geteuid())) {
        close(fd);
        dies(n, "it is another user's");
        return;
    }
    if (fd >= 0)
        n->link = link_create(step->loop, fd, fd, &trusted, "another mprun", &events, n, &e);
    if (!n->link) {
        dies(n, fd < 0 ? why->text : e.text);
        return;
    }
    for (size_t i = 0; i < step->plan->nused; i++)
        if (n->others->of[i].asked == n)
            send_hand(n, &n->others->of[i]);
}

static void begin_to_connect(struct neighbour *n)
{
    char path[300], address[ADDRESS_TEXT];
    snprintf(path, sizeof(path), "%s/control", n->path);
    n->dead = address_of_path("unix", path, address) < 0 ||
              !(n->dial = dial_create(n->others->step->loop, address, NULL, NEIGHBOUR_SECONDS,
                                      connected, n));
    n->others->nopen += !n->dead;
}

static void neighbour_free(struct neighbour *n)
{
    loop_timer_stop(&n->timer);
    dial_destroy(n->dial);
    link_destroy(n->link);
    free(n);
}

static struct neighbour *neighbour_create(struct other_steps *g, const char *path)
{
    struct neighbour *n = calloc(1, sizeof(*n) + g->step->plan->nused);
    if (!n)
        return NULL;
    n->others = g;
    n->dead = 1;
    snprintf(n->path, sizeof(n->path), "%s", path); /* has_socket(): it is short enough */
    n->step = strrchr(n->path, '/') + sizeof("mprun-");
    loop_timer_init(&n->timer, g->step->loop, too_slow, n);
    return n;
}

static bool has_socket(const char *directory)
{
    char path[300];
    return snprintf(path, sizeof(path), "%s/control", directory) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

/* Their directories are beside ours: an mprun of the same job has the same TMPDIR. */
static void other_step(void *arg, const char *path)
{
    struct other_steps *g = arg;
    struct neighbour **at = &g->all;
    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    if (!*at && g->nopen < NEIGHBOURS_MAX && has_socket(path) && (*at = neighbour_create(g, path)))
        begin_to_connect(*at);
}

/* New steps come before steps that were dead; a step that has gone is forgotten. */
static void look_for_others(struct other_steps *g)
{
    for (struct neighbour **at = &g->all, *n; (n = *at);) {
        if (n->dead && !has_socket(n->path)) { /* no host has it any more */
            *at = n->next;
            neighbour_free(n);
        } else {
            at = &n->next;
        }
    }
    socket_directory_others(g->step->directory, other_step, g);
    for (struct neighbour *n = g->all; n; n = n->next)
        if (n->dead && !n->foreign && g->nopen < NEIGHBOURS_MAX)
            begin_to_connect(n);
}

/* The next one; behind the last, the manager. */
static void ask(struct waiting *w)
{
    struct neighbour *n = w->asked ? w->asked->next : w->starter->all->other_steps.all;
    while (n && (n->dead || n->of[w->host->launch_index] != MAY_BE_ASKED))
        n = n->next;
    w->asked = n;
    if (!n || verdict_is_ending(w->starter->all->step.verdict))
        wait_for_room(w);
    else if (n->link)
        send_hand(n, w);
}

static int allocate(struct other_steps *g)
{
    size_t n = g->step->plan->nused;
    g->of = calloc(n, sizeof(*g->of));
    if (!g->of)
        return -1;
    for (size_t i = 0; i < n; i++) {
        g->of[i].starter = &g->starters->of[i];
        g->of[i].room = &g->starters->of[i].room;
        g->of[i].host = g->step->hosts->used[i];
    }
    return 0;
}

int other_steps_ask(struct other_steps *g, struct starter *st, const char *words)
{
    bool cannot = g->step->plan->transport == TRANSPORT_STDIO; /* the start channel is the link */
    if (!g->of && allocate(g) < 0)
        return -1;
    struct waiting *w = &g->of[st->host->launch_index];
    w->room->was_none = true;
    snprintf(w->refusal, sizeof(w->refusal), "%.*s", (int)strcspn(words, "\n"), words);
    log_debug("host %s: no room: %s", w->host->name, w->refusal);
    forget(w);
    if (cannot)
        snprintf(g->obstacle, sizeof(g->obstacle),
                 "with --transport=stdio no other step can start it; leave that out");
    if (w->host->link || cannot) {
        wait_for_room(w);
        return 0;
    }
    look_for_others(g);
    ask(w);
    return 0;
}

bool other_steps_fail_for_room(struct other_steps *g, struct starter *st)
{
    const struct step_plan *plan = g->step->plan;
    const struct waiting *w = g->of ? &g->of[st->host->launch_index] : NULL;
    char advice[500];
    if (!w || !w->room->was_none || w->handed)
        return false;
    if (w->failure[0])
        verdict_fail(g->step->verdict, EXIT_CODE_MPRUN,
                     "host %s: %s; %s itself has had no room there for %g s (--start-timeout): %s",
                     w->host->name, w->failure, plan->adapter->name, plan->cmd->start_timeout,
                     w->refusal);
    else
        verdict_fail(g->step->verdict, EXIT_CODE_MPRUN,
                     "host %s: not started within %g s (--start-timeout): %s%s%s%s", w->host->name,
                     plan->cmd->start_timeout, w->refusal,
                     start_client_advice(plan, w->refusal, advice, sizeof(advice)),
                     g->obstacle[0] ? "; " : "", g->obstacle);
    return true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void other_steps_init(struct other_steps *g, struct starters *s)
{
    g->starters = s;
    g->step = &s->step;
    loop_timer_init(&g->retry, s->step.loop, retry_due, g);
}

/* Whoever has started it: nobody else is needed any more. */
void other_steps_reported(struct other_steps *g, struct starter *st)
{
    struct waiting *w = g->of ? &g->of[st->host->launch_index] : NULL;
    if (!w)
        return;
    if (w->asked) /* it was faster than the answer */
        is_handed(w->asked, w);
    if (w->handed)
        starter_client_ends(st);
    w->handed = w->asked = NULL;
    w->room->waits = false;
}

void other_steps_cancel(struct other_steps *g)
{
    for (size_t i = 0; g->of && i < g->step->plan->nused; i++)
        if (g->of[i].asked || g->of[i].room->waits)
            wait_for_room(&g->of[i]);
}

void other_steps_end(struct other_steps *g)
{
    while (g->all) {
        struct neighbour *n = g->all;
        g->all = n->next;
        neighbour_free(n);
    }
    loop_timer_stop(&g->retry);
}

void other_steps_free(struct other_steps *g)
{
    other_steps_end(g);
    free(g->of);
}
