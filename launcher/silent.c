/* SPDX-License-Identifier: BSD-3-Clause */
/* silent.c - starters that say nothing although their links stand: stopped processes, frozen hosts
 *
 * mprun watches those that are linked to it, every host those right below it; nothing is ended.
 * Each is named once, and once more when it is back; what comes at about the same time is one
 * sentence. Of those behind a silent one nothing is known: they are counted. */
#include <errno.h>
#include <stdio.h>

#include "common/log.h"
#include "common/number.h"
#include "launcher/run.h"
#include "wire/heartbeat.h"
#include "wire/tree.h"

#define COLLECT 0.1 /* of the heartbeat: for the news of other hosts to come */

static int is_newly_silent(const struct host *h)
{
    return h->silence == SILENT_UNSAID;
}

static int is_newly_back(const struct host *h)
{
    return h->silence == BACK_UNSAID;
}

/* The longest of these silences; they are said. */
static double take_longest(struct run *r, enum silence from, enum silence to)
{
    float longest = 0;
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (h->silence != from)
            continue;
        h->silence = to;
        if (h->silent_for > longest)
            longest = h->silent_for;
    }
    return longest;
}

static void say_silent(struct run *r)
{
    char names[600], behind[64] = "";
    size_t n = hosts_list(r, is_newly_silent, names, sizeof(names)), nbehind = 0;
    if (n == 0)
        return;
    for (size_t i = 0; i < r->nused; i++)
        nbehind += host_is_behind(r->launched[i], is_newly_silent);
    if (nbehind)
        snprintf(behind, sizeof(behind), ", and %zu host%s %s behind %s", nbehind, plural(nbehind),
                 nbehind > 1 ? "are" : "is", n > 1 ? "them" : "it");
    double seconds = take_longest(r, SILENT_UNSAID, SILENT);
    if (n > 1)
        log_warn("hosts %s: their starters have been silent for %.0f s (stopped, or the hosts are "
                 "overloaded?)%s; still waiting",
                 names, seconds, behind);
    else
        log_warn("host %s: its starter has been silent for %.0f s (stopped, or the host is "
                 "overloaded?)%s; still waiting",
                 names, seconds, behind);
}

static void say_back(struct run *r)
{
    char names[600];
    size_t n = hosts_list(r, is_newly_back, names, sizeof(names));
    if (n == 0)
        return;
    double seconds = take_longest(r, BACK_UNSAID, HEARD);
    log_note("host%s %s: %s again, after %.0f s of silence", plural(n), names,
             n > 1 ? "their starters answer" : "its starter answers", seconds);
}

static void say_all(void *arg)
{
    say_silent(arg);
    say_back(arg);
}

static void note(struct host *h, int back, double seconds)
{
    struct run *r = h->run;
    static const enum silence after[][2] = {
        [HEARD] = {SILENT_UNSAID, HEARD},
        [SILENT_UNSAID] = {SILENT_UNSAID, HEARD},
        [SILENT] = {SILENT, BACK_UNSAID},
        [BACK_UNSAID] = {SILENT, BACK_UNSAID},
    };
    h->silence = after[h->silence][back];
    h->silent_for = (float)seconds;
    if (!loop_timer_active(r->silent_timer))
        loop_timer_start(r->silent_timer, r->cmd.heartbeat * COLLECT, 0);
}

/* ---- those that are linked to mprun itself --------------------------------------------------- */

static struct link *watched(void *arg, uint32_t i)
{
    struct host *h = ((struct run *)arg)->launched[i];
    return h->link && h->state >= AGENT_CONNECTED && h->state < AGENT_RELEASED ? host_link(h)
                                                                               : NULL;
}

static void some_silent(void *arg, const uint32_t *list, size_t n, double seconds)
{
    struct run *r = arg;
    for (size_t i = 0; i < n; i++)
        note(r->launched[list[i]], 0, seconds);
}

static void one_back(void *arg, uint32_t i, double seconds)
{
    note(((struct run *)arg)->launched[i], 1, seconds);
}

int silent_pong(struct host *h, const uint8_t *p, size_t n)
{
    return n == 0 ? heartbeat_answered(h->run->heartbeat, (uint32_t)h->launch_index) : -1;
}

void silent_heard(struct host *top)
{
    heartbeat_heard(top->run->heartbeat, (uint32_t)top->launch_index);
}

/* ---- what others watch ----------------------------------------------------------------------- */

int silent_told(struct host *from, const uint8_t *p, size_t n)
{
    struct run *r = from->run;
    Mprun__Silent *m = r->heartbeat ? mprun__silent__unpack(NULL, n, p) : NULL;
    int rc = m && m->n_hosts ? 0 : -1;
    for (size_t i = 0; m && i < m->n_hosts; i++) {
        uint32_t id = m->hosts[i];
        if (id < r->nused && tree_parent(id, r->fanout) == (uint32_t)from->launch_index)
            note(r->launched[id], m->back, seconds_unpack(m->seconds));
        else
            rc = -1;
    }
    mprun__silent__free_unpacked(m, NULL);
    return rc;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int silent_begin(struct run *r, struct error *err)
{
    static const struct heartbeat_events events = {
        .link = watched, .silent = some_silent, .back = one_back};
    if (r->cmd.heartbeat <= 0)
        return 0;
    r->silent_timer = loop_timer_create(r->loop, say_all, r);
    r->heartbeat = heartbeat_create(r->loop, (uint32_t)r->nused, r->cmd.heartbeat, &events, r);
    return r->silent_timer && r->heartbeat ? 0
                                           : error_errno(err, ENOMEM, "watch the hosts' starters");
}

void silent_end(struct run *r)
{
    heartbeat_destroy(r->heartbeat);
    r->heartbeat = NULL;
    loop_timer_destroy(r->silent_timer);
    r->silent_timer = NULL;
}
