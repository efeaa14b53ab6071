/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-oom.c - the sentence about a rank that was killed for a limit, mostly for want of memory */
#include <stdio.h>
#include <string.h>

#include "common/text/number.h"
#include "containment/step/tree.h"
#include "starter/containment/step-containment.h"
#include "starter/ranks/ranks-private.h"
#include "starter/services.h"
#include "wire/messages/launch.h"

/* Returns the kills that the rank's own cgroup has counted; if all ranks share a cgroup, its kills
 * that have explained no other rank's end. 0: none, or not counted. */
static uint64_t counted_kills(const struct rank *r, bool *ret_is_counted)
{
    const struct step_containment *c = r->all->with->containment;
    struct usage u = {0};
    if (c->level == TRACK_STEP)
        cgroup_tree_usage(c->tree, &u);
    else
        u = r->usage;
    *ret_is_counted = c->level == TRACK_RANK && usage_has(&u, USAGE_OOM_KILLS);
    uint64_t kills = usage_has(&u, USAGE_OOM_KILLS) ? u.value[USAGE_OOM_KILLS] : 0;
    uint64_t told = c->level == TRACK_STEP ? c->oom_told : 0;
    return kills > told ? kills - told : 0;
}

bool rank_limit_signal_text(const struct rank *r, int signo, char *text, size_t n)
{
    char name[RANK_NAME_TEXT], value[32];
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        const struct limit_words *w = limit_words((enum limit_kind)k);
        if (!r->limits.of[k].set || w->signal == 0 || w->signal != signo)
            continue;
        limit_format((enum limit_kind)k, r->limits.of[k].value, value, sizeof(value));
        snprintf(text, n, "rank %s on %s exceeded its limit of %s: %s (--limit rank:%s)",
                 rank_name_format(r->name, name), launch_here(r->all->with->launch)->host, w->name,
                 value, w->word);
        return true;
    }
    return false;
}

/* "memory limit 2 GiB", or that of memory and swap together */
static const char *memory_limit(const struct limits *l, char *buf, size_t n)
{
    char size[16];
    if (l->memory.set)
        snprintf(buf, n, "memory limit %s", size_format(l->memory.value, size, sizeof(size)));
    else
        snprintf(buf, n, "limit of memory and swap %s",
                 size_format(l->memory_swap.value, size, sizeof(size)));
    return buf;
}

/* "; the limit was hit 37 times, stalled for memory 0.012 s": each time the kernel took back what
 * it could while processes waited. */
static const char *squeezes(const struct usage *u, char *buf, size_t n)
{
    uint64_t hits = u->value[USAGE_LIMIT_EVENTS]; /* 0 if not known */
    double stalled = (double)u->value[USAGE_MEMORY_STALL] / 1e6;
    if (hits <= 1)
        return "";
    snprintf(buf, n, "; the limit was hit %llu times", (unsigned long long)hits);
    if (stalled > 0)
        snprintf(buf + strlen(buf), n - strlen(buf), ", stalled for memory %.3f s", stalled);
    return buf;
}

bool rank_oom_text(const struct rank *r, char *text, size_t n)
{
    char name[RANK_NAME_TEXT], limit[256], of[64], peak[16], hits[120];
    struct step_containment *c = r->all->with->containment;
    const char *host = launch_here(r->all->with->launch)->host;
    bool is_counted;
    if (r->limit_text) {
        snprintf(text, n, "%s", r->limit_text);
        return true;
    }
    uint64_t kills = counted_kills(r, &is_counted);
    if (kills == 0 && (is_counted || r->was_killed))
        return false;
    if (!oom_kills_explain(&c->oom_kills, limit, sizeof(limit)) && kills == 0)
        return false;
    c->oom_told += kills > 0;
    rank_name_format(r->name, name);
    size_format(usage_has(&r->usage, USAGE_MEMORY_PEAK) ? r->usage.value[USAGE_MEMORY_PEAK]
                                                        : r->usage.value[USAGE_RSS_PEAK],
                peak, sizeof(peak));
    if (r->leaf && cgroup_leaf_reached_limit(r->leaf))
        snprintf(text, n, "rank %s on %s exceeded its %s (%speak %s%s)", name, host,
                 memory_limit(&r->limits, of, sizeof(of)),
                 r->limits.memory.set ? "--mem-per-rank; " : "", peak,
                 squeezes(&r->usage, hits, sizeof(hits)));
    else if (c->tree && cgroup_tree_reached_limit(c->tree)) {
        struct usage all = {0};
        cgroup_tree_limit_usage(c->tree, &all);
        snprintf(text, n,
                 "rank %s on %s was killed: the ranks of this host exceeded their %s (--mem; peak "
                 "of this rank %s%s)",
                 name, host, memory_limit(&c->host_limits, of, sizeof(of)), peak,
                 squeezes(&all, hits, sizeof(hits)));
    } else
        snprintf(text, n, "rank %s on %s " OOM_KILLED " (%s; its peak %s)", name, host, limit,
                 peak);
    return true;
}
