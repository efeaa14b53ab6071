/* SPDX-License-Identifier: BSD-3-Clause */
/* silent-hosts.c - starters that say nothing although their links stand: stopped processes, frozen
 * hosts
 *
 * mprun watches those that are linked to it, every host those right below it; nothing is ended.
 * Each is named once, and once more when it is back; what comes at about the same time is one
 * sentence. Of those behind a silent one nothing is known: they are counted. */
#include "launcher/hosts/silent-hosts.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/number.h"
#include "launcher/hosts/host-links.h"
#include "launcher/policy.h"
#include "wire/link/heartbeat.h"
#include "wire/tree/tree.h"

enum silence { HEARD, SILENT_UNSAID, SILENT, BACK_UNSAID };

/* of a host */
struct watch {
    enum silence silence;
    float seconds;
};

struct silent_hosts {
    struct host_table *hosts;
    struct heartbeat *heartbeat;
    struct loop_timer timer; /* runs while there is something to say */
    struct watch of[];       /* by launch_index */
};

static bool is_newly_silent(const void *arg, const struct host *h)
{
    const struct silent_hosts *s = arg;
    return s->of[h->launch_index].silence == SILENT_UNSAID;
}

static bool is_newly_back(const void *arg, const struct host *h)
{
    const struct silent_hosts *s = arg;
    return s->of[h->launch_index].silence == BACK_UNSAID;
}

/* The longest of these silences; they are said. */
static double take_longest(struct silent_hosts *s, enum silence from, enum silence to)
{
    float longest = 0;
    for (size_t i = 0; i < s->hosts->plan->nused; i++) {
        struct watch *w = &s->of[i];
        if (w->silence != from)
            continue;
        w->silence = to;
        if (w->seconds > longest)
            longest = w->seconds;
    }
    return longest;
}

static void say_silent(struct silent_hosts *s)
{
    char names[600], behind[64] = "";
    const struct host_table *t = s->hosts;
    size_t n = hosts_list(t, is_newly_silent, s, names, sizeof(names)), nbehind = 0;
    if (n == 0)
        return;
    for (size_t i = 0; i < t->plan->nused; i++)
        nbehind += host_is_behind(t->used[i], is_newly_silent, s);
    if (nbehind)
        snprintf(behind, sizeof(behind), ", and %zu host%s %s behind %s", nbehind, plural(nbehind),
                 nbehind > 1 ? "are" : "is", n > 1 ? "them" : "it");
    double seconds = take_longest(s, SILENT_UNSAID, SILENT);
    if (n > 1)
        log_warn("hosts %s: their starters have been silent for %.0f s (stopped, or the hosts are "
                 "overloaded?)%s; still waiting",
                 names, seconds, behind);
    else
        log_warn("host %s: its starter has been silent for %.0f s (stopped, or the host is "
                 "overloaded?)%s; still waiting",
                 names, seconds, behind);
}

static void say_back(struct silent_hosts *s)
{
    char names[600];
    size_t n = hosts_list(s->hosts, is_newly_back, s, names, sizeof(names));
    if (n == 0)
        return;
    double seconds = take_longest(s, BACK_UNSAID, HEARD);
    log_note("host%s %s: %s again, after %.0f s of silence", plural(n), names,
             n > 1 ? "their starters answer" : "its starter answers", seconds);
}

static void say_all(void *arg)
{
    say_silent(arg);
    say_back(arg);
}

static void note(struct silent_hosts *s, uint32_t host, int back, double seconds)
{
    static const enum silence after[][2] = {
        [HEARD] = {SILENT_UNSAID, HEARD},
        [SILENT_UNSAID] = {SILENT_UNSAID, HEARD},
        [SILENT] = {SILENT, BACK_UNSAID},
        [BACK_UNSAID] = {SILENT, BACK_UNSAID},
    };
    struct watch *w = &s->of[host];
    w->silence = after[w->silence][back];
    w->seconds = (float)seconds;
    if (!loop_timer_active(&s->timer))
        loop_timer_start(&s->timer, s->hosts->plan->cmd->heartbeat * SILENCE_TOGETHER, 0);
}

/* ---- those that are linked to mprun itself --------------------------------------------------- */

static struct link *watched(void *arg, uint32_t i, uint32_t *ret_host)
{
    const struct silent_hosts *s = arg;
    const struct host *h = s->hosts->used[i];
    *ret_host = i;
    return h->state >= AGENT_CONNECTED && h->state < AGENT_RELEASED ? h->link : NULL;
}

static void some_silent(void *arg, const uint32_t *list, size_t n, double seconds)
{
    for (size_t i = 0; i < n; i++)
        note(arg, list[i], 0, seconds);
}

static void one_back(void *arg, uint32_t i, double seconds)
{
    note(arg, i, 1, seconds);
}

int silent_hosts_pong(struct silent_hosts *s, const struct host *h, size_t n)
{
    return s && n == 0 ? heartbeat_answered(s->heartbeat, h->launch_index) : -1;
}

void silent_hosts_heard(struct silent_hosts *s, const struct host *top)
{
    if (s)
        heartbeat_heard(s->heartbeat, top->launch_index);
}

/* ---- what others watch ----------------------------------------------------------------------- */

int silent_hosts_told(struct silent_hosts *s, const struct host *from, const Mprun__Silent *m)
{
    const struct host_table *t = from->table;
    int rc = s && m->n_hosts ? 0 : -1;
    for (size_t i = 0; s && i < m->n_hosts; i++) {
        const struct host *h = host_at(t, m->hosts[i]);
        if (h && host_above(h) == from)
            note(s, h->launch_index, m->back, seconds_unpack(m->seconds));
        else
            rc = -1;
    }
    return rc;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct silent_hosts *silent_hosts_create(struct loop *loop, struct host_table *t)
{
    static const struct heartbeat_events events = {
        .link = watched, .silent = some_silent, .back = one_back};
    const struct step_plan *p = t->plan;
    struct silent_hosts *s = calloc(1, sizeof(*s) + p->nused * sizeof(s->of[0]));
    if (!s)
        return NULL;
    s->hosts = t;
    loop_timer_init(&s->timer, loop, say_all, s);
    s->heartbeat = heartbeat_create(loop, (uint32_t)p->nused, p->cmd->heartbeat, &events, s);
    if (s->heartbeat)
        return s;
    silent_hosts_destroy(s);
    return NULL;
}

void silent_hosts_destroy(struct silent_hosts *s)
{
    if (!s)
        return;
    heartbeat_destroy(s->heartbeat);
    loop_timer_stop(&s->timer);
    free(s);
}
