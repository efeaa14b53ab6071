/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.h - which rank runs where, and on which cores: pure functions
 *
 * plan() places ranks on hosts; plan_binding() gives the ranks of one host their hardware threads.
 * Neither looks at the machine, prints, or keeps state: the same input gives the same plan. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/idset.h"
#include "model/allocation.h"
#include "model/binding.h"
#include "model/step.h"

struct plan_host {
    uint32_t first_rank; /* ranks are contiguous on a host in this release */
    uint32_t nranks;
};

struct plan {
    struct plan_host *hosts; /* one per host of the allocation, in its order */
    size_t nhosts;
    int oversubscribed; /* some host has more ranks than slots */
    char reason[256];   /* "4 ranks on 2 hosts by slot: 2 slots each (cores of this machine)" */
};

struct plan_options {
    uint32_t nranks;   /* 0: one per slot, or per_host on every host when that is set */
    uint32_t per_host; /* --npernode/-N: at most this many on a host; 0: no bound */
    uint32_t cores;    /* a rank takes as many slots; 0 is one */
    int oversubscribe; /* 1: allowed, 0: not, -1: as the allocation says */
};

/* Fill hosts in order, slots first; what is left over (oversubscription) is dealt round robin in
 * proportion to slots. The error has the arithmetic and the way out. */
int plan(const struct allocation *a, const struct plan_options *o, struct plan *ret,
         struct error *err);
void plan_free(struct plan *p);

/* A core: the hardware threads of it that may be used, by operating system index. */
struct plan_core {
    struct idset threads;
    unsigned package, numa; /* logical indexes */
};
struct plan_topology {
    struct plan_core *cores; /* in the machine's order; those with no usable thread are left out */
    size_t ncores;
    size_t share; /* so many of them are the job's, and nobody says which; 0: all are */
    int inside;   /* the step runs in a rank of another one, whose cores are not free for that */
};
void plan_topology_free(struct plan_topology *t);

struct plan_binding {
    struct idset *ranks; /* nranks sets of hardware threads; all empty: not bound */
    uint32_t nranks;
    int bound;
    char reason[256]; /* "bound to cores: 2 ranks, 2 cores", "not bound: 4 ranks on 2 cores" */
};
/* A core each, or as many as `how` says, in the topology's order. `busy` (may be NULL): hardware
 * threads that other steps have taken; free cores are used first, and by default no other ones:
 * BIND_CORE shares them and says so. By default nobody is bound to a share, either: two jobs would
 * choose the same cores. */
int plan_binding(const struct plan_topology *t, const struct binding_request *how, uint32_t nranks,
                 const struct idset *busy, struct plan_binding *ret, struct error *err);
void plan_binding_free(struct plan_binding *b);

#endif
