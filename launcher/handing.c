/* SPDX-License-Identifier: BSD-3-Clause */
/* handing.c - hosts on which the resource manager has no room for one more task of the job
 *
 * Another mprun of the job has its task there. Those of this machine are asked, by their control
 * sockets, to have their starter start ours (guests.c); it reports to us as any other does, and
 * nobody else is needed then. Where none can, the manager is asked again later, until there is room
 * or --start-timeout is over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "launcher/run.h"
#include "wire/address.h"
#include "wire/dial.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#define RETRY_SECONDS  1.0
#define ANSWER_SECONDS 2.0 /* one that is stopped gives none */

enum { OPEN_MAX = 16 }; /* connections to others at once */

/* What another mprun is to a host. */
enum standing {
    MAY_BE_ASKED,
    OWES_ANSWER, /* it is not asked again before that */
    HAS_FAILED,  /* what it has started came to nothing */
};

/* Another mprun. It stays in the list when it is dead: hosts may have it as the one asked last. */
struct neighbour {
    struct neighbour *next;
    struct handing *handing;
    char *path, *step;
    unsigned char *of; /* enum standing, by launch_index */
    int dead;
    int willing; /* it is of our job: it may have our step's key */
    int foreign; /* it never starts anything for us */
    struct dial *dial;
    struct link *link;
    struct loop_timer *timer;
};

/* A host that the manager had no room on. */
struct waiting {
    double asked_at;   /* loop_now() */
    char refusal[400]; /* the manager's words */
    char failure[600]; /* of what another step's starter has started; "": nothing has failed */
};

struct handing {
    struct run *run;
    struct waiting *of; /* by launch_index */
    struct loop_timer *retry;
    struct neighbour *all;
    size_t nopen;
    int told;
    char obstacle[300]; /* why another step of the job cannot start ours, and what to do; or "" */
};

static void ask(struct host *h);
static void send_hand(struct neighbour *n, struct host *h);

/* ---- waiting for room ------------------------------------------------------------------------ */

static void retry_due(void *arg)
{
    struct handing *g = arg;
    struct run *r = g->run;
    int more = 0;
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (h->link && h->waits && !r->killing) { /* its HELLO comes */
            more = 1;
            continue;
        }
        if (h->waits && r->starting)
            starters_retry(h);
        h->waits = 0;
    }
    if (more)
        loop_timer_start(g->retry, RETRY_SECONDS, 0);
}

/* Once, with the first host of which it is so. */
static void tell(const struct host *h)
{
    const struct run *r = h->run;
    struct handing *g = r->handing;
    const char *why = g->obstacle;
    if (g->told++ > 0)
        return;
    log_note("host %s: %s has no room for one more task of the job%s%s%s: this is tried again "
             "until another mprun of the job has ended, or for %.0f s (--start-timeout)",
             h->name, r->adapter->name, *why ? " (" : "", why, *why ? ")" : "",
             r->cmd.start_timeout);
}

static void wait_for_room(struct host *h)
{
    struct run *r = h->run;
    struct handing *g = r->handing;
    h->asked = NULL;
    h->waits = 1;
    if (!r->killing)
        tell(h);
    if (!loop_timer_active(g->retry) || r->killing) /* it is told that it was cancelled */
        loop_timer_start(g->retry, r->killing ? 0 : RETRY_SECONDS, 0);
}

/* ---- what another mprun says ----------------------------------------------------------------- */

static struct waiting *waiting_of(const struct host *h)
{
    return &h->run->handing->of[h->launch_index];
}

/* The client that was started last has come to nothing. A starter that may be another's, and is
 * there already, is left alone. */
static void forget(struct host *h)
{
    if (!h->link || !h->stray) {
        starters_forget(h);
        return;
    }
    start_words_drop(h);
    agent_enter(h, AGENT_WAITING);
}

/* What it was asked for did not come to be. */
static void lost(struct host *h, const char *why)
{
    struct waiting *w = waiting_of(h);
    char said[500];
    start_words_reason(h, said, sizeof(said));
    snprintf(w->failure, sizeof(w->failure), "the starter of step %.20s has started it, and %s%s%s",
             h->handed_to, why, *said ? ": " : "", said);
    log_debug("host %s: %s", h->name, w->failure);
    h->channel_open = 0;
    h->handed = NULL;
    if (!h->link)
        h->handed_to[0] = 0;
    forget(h);
    wait_for_room(h);
}

static void dies(struct neighbour *n, const char *why)
{
    struct run *r = n->handing->run;
    log_debug("step %s takes nothing over: %s", n->step, why);
    n->dead = 1;
    n->willing = 0;
    n->handing->nopen--;
    loop_timer_stop(n->timer);
    dial_destroy(n->dial);
    link_destroy(n->link);
    n->dial = NULL;
    n->link = NULL;
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        h->stray |= n->of[i] == OWES_ANSWER || h->handed == n;
        if (n->of[i] == OWES_ANSWER)
            n->of[i] = MAY_BE_ASKED;
        if (h->asked == n)
            ask(h);
        else if (h->handed == n)
            lost(h, why);
    }
    step_changed(r);
}

/* The starter of that host, or that mprun, is stopped. */
static void too_slow(void *arg)
{
    struct neighbour *n = arg;
    struct run *r = n->handing->run;
    int awaited = 0;
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (h->asked != n)
            continue;
        if (loop_now() - waiting_of(h)->asked_at < ANSWER_SECONDS * 0.9) {
            awaited = 1;
            continue;
        }
        log_debug("host %s: step %s gives no answer", h->name, n->step);
        h->stray = 1;
        ask(h);
    }
    if (awaited)
        loop_timer_start(n->timer, ANSWER_SECONDS, 0);
    step_changed(r);
}

static void is_handed(struct neighbour *n, struct host *h)
{
    snprintf(h->handed_to, sizeof(h->handed_to), "%s", n->step);
    log_debug("host %s: handed to the starter of step %s", h->name, n->step);
}

static void accepted(struct neighbour *n, struct host *h)
{
    h->asked = NULL;
    h->waits = 0;
    h->handed = n;
    h->channel_open = 1;
    h->client_pid = 0;
    h->is_starter = 0;
    agent_enter(h, AGENT_STARTED);
    start_words_open(h, -1);
    is_handed(n, h);
}

static void refused(struct neighbour *n, struct host *h, const Mprun__ErrandNews *m)
{
    if (h->asked != n) /* too late */
        return;
    log_debug("host %s: not handed to the starter of step %s: %.*s", h->name, n->step,
              (int)m->text.len, (const char *)m->text.data);
    ask(h);
}

static void is_foreign(struct neighbour *n, const struct host *h, const Mprun__ErrandNews *m)
{
    struct handing *g = n->handing;
    char why[200];
    snprintf(why, sizeof(why), "%.*s", (int)m->text.len, (const char *)m->text.data);
    n->foreign = 1;
    if (m->what == ERRAND_NEVER && !g->obstacle[0]) {
        snprintf(g->obstacle, sizeof(g->obstacle), "step %.20s there cannot start it: %s", n->step,
                 why);
        if (g->told) /* too late to be said then */
            log_note("host %s: %s", h->name, g->obstacle);
    }
    memset(n->of, MAY_BE_ASKED, n->handing->run->nused); /* it has started nothing */
    dies(n, why);
}

/* What was asked for too late is asked for again, if it still waits. */
static void is_willing(struct neighbour *n, struct host *h)
{
    n->willing = 1;
    if (h->waits && !h->link && !h->run->killing) {
        h->waits = 0;
        h->asked = n;
    }
    if (h->asked == n)
        send_hand(n, h);
}

static void take_answer(struct neighbour *n, struct host *h, const Mprun__ErrandNews *m)
{
    n->of[h->launch_index] = MAY_BE_ASKED;
    if (m->what == ERRAND_NEVER || m->what == ERRAND_STRANGER)
        is_foreign(n, h, m);
    else if (m->what == ERRAND_WILLING)
        is_willing(n, h);
    else if (m->what == ERRAND_REFUSED)
        refused(n, h, m);
    else if (m->what == ERRAND_STARTED && (h->asked == n || (h->waits && !h->run->killing)))
        accepted(n, h);
}

static void take_end(struct neighbour *n, struct host *h)
{
    n->of[h->launch_index] = HAS_FAILED;
    lost(h, "it has ended");
}

static int take_news(struct neighbour *n, const Mprun__ErrandNews *m)
{
    struct run *r = n->handing->run;
    struct host *h = m->id < r->nused ? r->launched[m->id] : NULL;
    if (!h)
        return -1;
    if (n->of[m->id] == OWES_ANSWER)
        take_answer(n, h, m);
    else if (h->handed == n && m->what == ERRAND_SAID)
        start_words_add(h, m->text.data, m->text.len);
    else if (h->handed == n && (m->what == ERRAND_ENDED || m->what == ERRAND_REFUSED))
        take_end(n, h);
    step_changed(r);
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
static void send_hand(struct neighbour *n, struct host *h)
{
    struct run *r = h->run;
    uint8_t packed[PREAMBLE_MAX];
    struct error e;
    Mprun__Hand m = MPRUN__HAND__INIT;
    int len = n->willing ? start_channel_preamble(h, 0, packed, &e) : 0;
    m.id = (uint32_t)h->launch_index;
    m.version = PACKAGE_VERSION;
    m.adapter = (char *)(uintptr_t)r->adapter->name;
    m.job = r->alloc.job_id;
    m.host = bytes_of(h->name);
    m.input = (ProtobufCBinaryData){.data = packed, .len = len < 0 ? 0 : (size_t)len};
    link_send(n->link, FRAME_HAND, &m.base);
    explicit_bzero(packed, sizeof(packed));
    n->of[h->launch_index] = OWES_ANSWER;
    waiting_of(h)->asked_at = loop_now();
    if (!loop_timer_active(n->timer))
        loop_timer_start(n->timer, ANSWER_SECONDS, 0);
}

static int is_own_user(int fd)
{
    struct ucred u;
    socklen_t len = sizeof(u);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == 0 && u.uid == geteuid();
}

static void connected(void *arg, int fd, const struct error *why)
{
    static const struct link_events events = {.frame = neighbour_frame, .closed = neighbour_closed};
    struct link_options trusted = {.role = LINK_TRUSTED};
    struct neighbour *n = arg;
    struct run *r = n->handing->run;
    struct error e;
    if (fd >= 0 && !is_own_user(fd)) {
        close(fd);
        dies(n, "it is another user's");
        return;
    }
    if (fd >= 0)
        n->link = link_create(r->loop, fd, fd, &trusted, "another mprun", &events, n, &e);
    if (!n->link) {
        dies(n, fd < 0 ? why->text : e.text);
        return;
    }
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->asked == n)
            send_hand(n, r->launched[i]);
}

static void begin_to_connect(struct neighbour *n)
{
    char path[300], address[ADDRESS_TEXT];
    snprintf(path, sizeof(path), "%s/control", n->path);
    n->dead = address_of_path("unix", path, address) < 0 ||
              !(n->dial = dial_create(n->handing->run->loop, address, NULL, ANSWER_SECONDS,
                                      connected, n));
    n->handing->nopen += !n->dead;
}

static void neighbour_free(struct neighbour *n)
{
    loop_timer_destroy(n->timer);
    dial_destroy(n->dial);
    link_destroy(n->link);
    free(n->path);
    free(n->of);
    free(n);
}

static struct neighbour *neighbour_create(struct handing *g, const char *path)
{
    struct neighbour *n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;
    n->handing = g;
    n->dead = 1;
    n->path = strdup(path);
    n->of = calloc(g->run->nused, 1);
    n->timer = loop_timer_create(g->run->loop, too_slow, n);
    if (!n->path || !n->of || !n->timer) {
        neighbour_free(n);
        return NULL;
    }
    n->step = strrchr(n->path, '/') + sizeof("mprun-");
    return n;
}

static int has_socket(const char *directory)
{
    char path[300];
    return snprintf(path, sizeof(path), "%s/control", directory) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

/* Their directories are beside ours: an mprun of the same job has the same TMPDIR. */
static void other_step(void *arg, const char *path)
{
    struct handing *g = arg;
    struct neighbour **at = &g->all;
    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    if (!*at && g->nopen < OPEN_MAX && has_socket(path) && (*at = neighbour_create(g, path)))
        begin_to_connect(*at);
}

/* Those that are not known yet before those that were dead; who is gone is forgotten. */
static void look_for_others(struct handing *g)
{
    for (struct neighbour **at = &g->all, *n; (n = *at);) {
        if (n->dead && !has_socket(n->path)) { /* no host has it any more */
            *at = n->next;
            neighbour_free(n);
        } else {
            at = &n->next;
        }
    }
    home_others(g->run, other_step, g);
    for (struct neighbour *n = g->all; n; n = n->next)
        if (n->dead && !n->foreign && g->nopen < OPEN_MAX)
            begin_to_connect(n);
}

/* The next one; behind the last, the manager. */
static void ask(struct host *h)
{
    struct neighbour *n = h->asked ? h->asked->next : h->run->handing->all;
    while (n && (n->dead || n->of[h->launch_index] != MAY_BE_ASKED))
        n = n->next;
    h->asked = n;
    if (!n || h->run->killing)
        wait_for_room(h);
    else if (n->link)
        send_hand(n, h);
}

static struct handing *handing_create(struct run *r)
{
    struct handing *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    g->run = r;
    g->of = calloc(r->nused, sizeof(*g->of));
    g->retry = g->of ? loop_timer_create(r->loop, retry_due, g) : NULL;
    if (g->retry)
        return g;
    free(g->of);
    free(g);
    return NULL;
}

int handing_begin(struct host *h, const char *words)
{
    struct run *r = h->run;
    if (!r->handing && !(r->handing = handing_create(r)))
        return -1;
    h->no_room = 1;
    snprintf(waiting_of(h)->refusal, sizeof(waiting_of(h)->refusal), "%.*s",
             (int)strcspn(words, "\n"), words);
    log_debug("host %s: no room: %s", h->name, waiting_of(h)->refusal);
    forget(h);
    if (r->transport == TRANSPORT_STDIO)
        snprintf(r->handing->obstacle, sizeof(r->handing->obstacle),
                 "with --transport=stdio no other step can start it; leave that out");
    if (h->link || r->transport == TRANSPORT_STDIO) { /* where the start channel is the link */
        wait_for_room(h);
        return 0;
    }
    look_for_others(r->handing);
    ask(h);
    return 0;
}

void handing_time_over(struct host *h)
{
    struct run *r = h->run;
    const struct waiting *w = waiting_of(h);
    char advice[500];
    if (w->failure[0])
        run_fail(r, EXIT_CODE_MPRUN,
                 "host %s: %s; %s itself has had no room there for %g s (--start-timeout): %s",
                 h->name, w->failure, r->adapter->name, r->cmd.start_timeout, w->refusal);
    else
        run_fail(r, EXIT_CODE_MPRUN, "host %s: not started within %g s (--start-timeout): %s%s%s%s",
                 h->name, r->cmd.start_timeout, w->refusal,
                 start_client_advice(r, w->refusal, advice, sizeof(advice)),
                 r->handing->obstacle[0] ? "; " : "", r->handing->obstacle);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Whoever has started it: nobody else is needed any more. */
void handing_reported(struct host *h)
{
    if (h->asked) /* it was faster than the answer */
        is_handed(h->asked, h);
    if (h->handed)
        h->channel_open = 0;
    h->handed = h->asked = NULL;
    h->waits = 0;
}

void handing_cancel(struct run *r)
{
    for (size_t i = 0; r->handing && i < r->nused; i++)
        if (r->launched[i]->asked || r->launched[i]->waits)
            wait_for_room(r->launched[i]);
}

void handing_end(struct run *r)
{
    struct handing *g = take_ptr(r->handing);
    if (!g)
        return;
    while (g->all) {
        struct neighbour *n = g->all;
        g->all = n->next;
        neighbour_free(n);
    }
    loop_timer_destroy(g->retry);
    free(g->of);
    free(g);
}
