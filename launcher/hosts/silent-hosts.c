/* SPDX-License-Identifier: BSD-3-Clause */
/* silent-hosts.c - starters that send nothing over open links: stopped processes, frozen hosts
 *
 * mprun watches the hosts that are linked to it, and every host those right below it; none of them
 * is ended. mprun names a silent host once, and again when it is back, in one sentence with others
 * of about the same time. Hosts below a silent one are unknown: mprun counts them. */
#include "launcher/hosts/host-links.h"

#include <stdio.h>

#include "common/log.h"
#include "common/text/number.h"
#include "launcher/tunables.h"
#include "wire/link/heartbeat.h"

static bool is_newly_silent(const void *arg, const struct host *h)
{
    return h->silence == SILENT_UNSAID;
}

static bool is_newly_back(const void *arg, const struct host *h)
{
    return h->silence == BACK_UNSAID;
}

/* The longest of these silences; they are said. */
static double take_longest(struct host_table *t, enum silence from, enum silence to)
{
    float longest = 0;
    for (size_t i = 0; i < t->plan->nused; i++) {
        struct host *h = t->used[i];
        if (h->silence != from)
            continue;
        h->silence = to;
        if (h->silent_seconds > longest)
            longest = h->silent_seconds;
    }
    return longest;
}

static void say_silent(struct host_table *t)
{
    char names[600], behind[64] = "";
    size_t n = hosts_list(t, is_newly_silent, NULL, names, sizeof(names)), nbehind = 0;
    if (n == 0)
        return;
    for (size_t i = 0; i < t->plan->nused; i++)
        nbehind += host_is_behind(t->used[i], is_newly_silent, NULL);
    if (nbehind)
        snprintf(behind, sizeof(behind), ", and %zu host%s %s behind %s", nbehind, plural(nbehind),
                 nbehind > 1 ? "are" : "is", n > 1 ? "them" : "it");
    double seconds = take_longest(t, SILENT_UNSAID, SILENT);
    if (n > 1)
        log_warn("hosts %s: their starters have been silent for %.0f s (stopped, or the hosts are "
                 "overloaded?)%s; still waiting",
                 names, seconds, behind);
    else
        log_warn("host %s: its starter has been silent for %.0f s (stopped, or the host is "
                 "overloaded?)%s; still waiting",
                 names, seconds, behind);
}

static void say_back(struct host_table *t)
{
    char names[600];
    size_t n = hosts_list(t, is_newly_back, NULL, names, sizeof(names));
    if (n == 0)
        return;
    double seconds = take_longest(t, BACK_UNSAID, HEARD);
    log_note("host%s %s: %s again, after %.0f s of silence", plural(n), names,
             n > 1 ? "their starters answer" : "its starter answers", seconds);
}

static void say_all(void *arg)
{
    say_silent(arg);
    say_back(arg);
}

static void note(struct host *h, bool back, double seconds)
{
    static const enum silence after[][2] = {
        [HEARD] = {SILENT_UNSAID, HEARD},
        [SILENT_UNSAID] = {SILENT_UNSAID, HEARD},
        [SILENT] = {SILENT, BACK_UNSAID},
        [BACK_UNSAID] = {SILENT, BACK_UNSAID},
    };
    struct host_table *t = h->table;
    h->silence = after[h->silence][back];
    h->silent_seconds = (float)seconds;
    if (!loop_timer_is_active(&t->silence))
        loop_timer_start(&t->silence, t->plan->cmd->links.heartbeat * SILENCE_TOGETHER, 0);
}

/* ---- those that are linked to mprun itself --------------------------------------------------- */

static struct link *watched(void *arg, uint32_t i, uint32_t *ret_host)
{
    const struct host_table *t = arg;
    const struct host *h = t->used[i];
    *ret_host = i;
    return h->state >= AGENT_CONNECTED && h->state < AGENT_RELEASED ? h->link : NULL;
}

static void some_silent(void *arg, const uint32_t *list, size_t n, double seconds)
{
    const struct host_table *t = arg;
    for (size_t i = 0; i < n; i++)
        note(t->used[list[i]], false, seconds);
}

static void one_back(void *arg, uint32_t i, double seconds)
{
    const struct host_table *t = arg;
    note(t->used[i], true, seconds);
}

void hosts_watch(struct host_table *t, struct loop *loop)
{
    static const struct heartbeat_events events = {
        .link = watched, .silent = some_silent, .back = one_back};
    double seconds = t->plan->cmd->links.heartbeat;
    if (seconds <= 0)
        return;
    loop_timer_init(&t->silence, loop, say_all, t);
    t->heartbeat = heartbeat_create(loop, (uint32_t)t->plan->nused, seconds, &events, t);
}

void host_heard(const struct host *top)
{
    heartbeat_heard(top->table->heartbeat, top->launch_index);
}

int host_pong(const struct host *h, size_t n)
{
    return n == 0 ? heartbeat_answered(h->table->heartbeat, h->launch_index) : -1;
}

/* ---- those that others watch ----------------------------------------------------------------- */

int host_told_silent(const struct host *from, const Mprun__Silent *m)
{
    const struct host_table *t = from->table;
    int rc = t->heartbeat && m->n_hosts ? 0 : -1;
    for (size_t i = 0; t->heartbeat && i < m->n_hosts; i++) {
        struct host *h = host_at(t, m->hosts[i]);
        if (h && host_above(h) == from)
            note(h, m->back, seconds_unpack(m->seconds));
        else
            rc = -1;
    }
    return rc;
}
