/* SPDX-License-Identifier: BSD-3-Clause */
/* bind.c - which hardware threads each rank of one host may use */
#include "plan/plan.h"

#include <stdbool.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"

void plan_topology_free(struct plan_topology *t)
{
    for (size_t i = 0; i < t->ncores; i++)
        idset_free(&t->cores[i].threads);
    free(t->cores);
    *t = (struct plan_topology){0};
}

void plan_binding_free(struct plan_binding *b)
{
    for (uint32_t i = 0; b->ranks && i < b->nranks; i++)
        idset_free(&b->ranks[i]);
    free(b->ranks);
    *b = (struct plan_binding){0};
}

static bool is_busy(const struct plan_core *core, const struct idset *busy)
{
    for (int t = idset_next(&core->threads, 0); busy && t >= 0;
         t = idset_next(&core->threads, (unsigned)t + 1))
        if (idset_has(busy, (unsigned)t))
            return true;
    return false;
}

/* The cores in the order in which they are given out: free ones first. *ret_free: how many are. */
static const struct plan_core **order_cores(const struct plan_topology *t, const struct idset *busy,
                                            size_t *ret_free)
{
    const struct plan_core **order = malloc((t->ncores + 1) * sizeof(struct plan_core *));
    size_t n = 0;
    if (!order)
        return NULL;
    for (size_t i = 0; i < t->ncores; i++)
        if (!is_busy(&t->cores[i], busy))
            order[n++] = &t->cores[i];
    *ret_free = n;
    for (size_t i = 0; i < t->ncores; i++)
        if (is_busy(&t->cores[i], busy))
            order[n++] = &t->cores[i];
    return order;
}

/* "3 ranks", "1 core" */
static const char *counted(char buf[32], size_t n, const char *noun)
{
    snprintf(buf, 32, "%zu %s%s", n, noun, plural(n));
    return buf;
}

static bool is_part(const struct plan_topology *t)
{
    return t->share > 0 && t->share < t->ncores;
}

static const char *counted_ranks(char buf[64], uint32_t nranks, size_t each)
{
    char cores[32] = "";
    if (each > 1)
        snprintf(cores, sizeof(cores), " of %zu cores", each);
    snprintf(buf, 64, "%" PRIu32 " rank%s%s", nranks, plural(nranks), cores);
    return buf;
}

/* Why ranks are not bound although nobody asked for that. */
static void explain_unbound(struct plan_binding *b, const struct plan_topology *t, size_t each,
                            size_t nfree)
{
    char ranks[64], cores[32];
    counted_ranks(ranks, b->nranks, each);
    counted(cores, t->ncores, "core");
    if (is_part(t))
        snprintf(b->reason, sizeof(b->reason),
                 "not bound: which %zu of %s the job has was not said", t->share, cores);
    else if (nfree < t->ncores && (nfree > 0 || !t->inside))
        snprintf(b->reason, sizeof(b->reason), "not bound: %s on %zu free of %s", ranks, nfree,
                 cores);
    else
        snprintf(b->reason, sizeof(b->reason), "not bound: %s on %s%s", ranks, cores,
                 nfree < t->ncores ? ", which the rank has that this step runs in" : "");
}

static void explain_bound(struct plan_binding *b, size_t each, size_t ncores, size_t nfree)
{
    char ranks[64], cores[32], shared_cores[32], shared[80] = "";
    size_t taken = b->nranks * each;
    if (taken > nfree)
        snprintf(shared, sizeof(shared), ", %s shared with other steps",
                 counted(shared_cores, taken - nfree, "core"));
    snprintf(b->reason, sizeof(b->reason), "bound to cores: %s, %s%s",
             counted_ranks(ranks, b->nranks, each), counted(cores, ncores, "core"), shared);
}

static int add_threads(struct idset *to, const struct idset *threads)
{
    for (int t = idset_next(threads, 0); t >= 0; t = idset_next(threads, (unsigned)t + 1))
        if (idset_add(to, (unsigned)t) < 0)
            return -1;
    return 0;
}

static int bind_to(struct plan_binding *b, size_t each, const struct plan_core *const *order)
{
    for (uint32_t i = 0; i < b->nranks; i++)
        for (size_t k = 0; k < each; k++, order++)
            if (add_threads(&b->ranks[i], &(*order)->threads) < 0)
                return -1;
    b->bound = 1;
    return 0;
}

static int refuse_overload(uint32_t nranks, size_t each, size_t ncores, struct error *err)
{
    char ranks[64], cores[32];
    return error_set(err, EINVAL,
                     "bind %s to cores: only %s may be used here, and ranks would have to share "
                     "them; start at most %zu here, or use --bind-to none",
                     counted_ranks(ranks, nranks, each), counted(cores, ncores, "core"),
                     ncores / each);
}

int plan_binding(const struct plan_topology *t, const struct binding_request *how, uint32_t nranks,
                 const struct idset *busy, struct plan_binding *ret, struct error *err)
{
    struct plan_binding b = {.nranks = nranks};
    size_t nfree, each = binding_cores(how), want = nranks * each;
    if (how->policy == BIND_CORE && want > t->ncores)
        return refuse_overload(nranks, each, t->ncores, err);
    const struct plan_core **order = order_cores(t, busy, &nfree);
    b.ranks = calloc(nranks ? nranks : 1, sizeof(*b.ranks));
    if (!order || !b.ranks)
        goto no_memory;
    if (how->policy == BIND_NONE || nranks == 0) {
        strcpy(b.reason, nranks ? "not bound: asked for" : "not bound: no ranks");
    } else if (how->policy == BIND_DEFAULT && (want > nfree || is_part(t))) {
        explain_unbound(&b, t, each, nfree);
    } else {
        if (bind_to(&b, each, order) < 0)
            goto no_memory;
        explain_bound(&b, each, t->ncores, nfree);
    }
    free(order);
    *ret = b;
    return 0;

no_memory:
    free(order);
    plan_binding_free(&b);
    return error_errno(err, ENOMEM, "bind %" PRIu32 " rank%s", nranks, plural(nranks));
}
