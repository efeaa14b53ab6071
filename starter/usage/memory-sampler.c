/* SPDX-License-Identifier: BSD-3-Clause */
/* memory-sampler.c - samples of the ranks' memory, on a timer of the loop */
#include "starter/usage/memory-sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/proc.h"
#include "starter/policy.h"

struct sampler {
    struct sampler_source source;
    void *arg;
    struct loop_timer timer;
};

int sampler_read(const pid_t *pids, size_t n, struct usage *u)
{
    struct proc_memory sum = {0};
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        struct proc_memory m;
        if (proc_memory_read(pids[i], &m) < 0)
            continue; /* it ended meanwhile */
        sum.anonymous += m.anonymous;
        sum.file += m.file;
        sum.shared += m.shared;
        sum.swap += m.swap;
        found++;
    }
    if (found == 0)
        return -1;
    usage_set(u, USAGE_ANON, sum.anonymous);
    usage_set(u, USAGE_FILE, sum.file);
    usage_set(u, USAGE_SHARED, sum.shared);
    usage_set(u, USAGE_SWAP, sum.swap);
    usage_max(u, USAGE_ANON_PEAK, sum.anonymous);
    usage_max(u, USAGE_FILE_PEAK, sum.file);
    usage_max(u, USAGE_SHARED_PEAK, sum.shared);
    usage_max(u, USAGE_SWAP_PEAK, sum.swap);
    return 0;
}

void sampler_sample(struct sampler *s)
{
    size_t n = s->source.count(s->arg);
    for (size_t i = 0; i < n; i++) {
        pid_t *pids;
        int npids = s->source.pids(s->arg, i, &pids);
        if (npids <= 0)
            continue;
        sampler_read(pids, (size_t)npids, s->source.usage(s->arg, i));
        free(pids);
    }
}

static void sample_due(void *arg)
{
    sampler_sample(arg);
}

struct sampler *sampler_create(struct loop *loop, double period,
                               const struct sampler_source *source, void *arg, struct error *err)
{
    struct sampler *s = calloc(1, sizeof(*s));
    if (!s) {
        error_errno(err, ENOMEM, "sample the memory of ranks");
        return NULL;
    }
    s->source = *source;
    s->arg = arg;
    loop_timer_init(&s->timer, loop, sample_due, s);
    loop_timer_start(&s->timer, period * FIRST_SAMPLE_PART, period);
    return s;
}

void sampler_destroy(struct sampler *s)
{
    if (!s)
        return;
    loop_timer_stop(&s->timer);
    free(s);
}
