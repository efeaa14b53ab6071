/* SPDX-License-Identifier: BSD-3-Clause */
/* allocation.h - what was granted: hosts, slots, cores, limits, each number with its source */
#ifndef MODEL_ALLOCATION_H
#define MODEL_ALLOCATION_H

#include <stddef.h>
#include <stdint.h>

#include "common/idset.h"
#include "model/limits.h"

struct sourced_count {
    uint32_t value;
    char source[64]; /* "--np", "PE_HOSTFILE column 2", "cores of this machine" */
};

struct alloc_host {
    char *name;                 /* as ranks and messages name it; unique in the allocation */
    struct sourced_count slots;
    uint32_t max_slots;         /* never more ranks than so many; 0: no such bound */
    uint32_t granted;           /* slots that a manager has given the job here, however many of
                                   them are used; 0: there is none, or it did not say */
    int here;                   /* it is the machine that mprun runs on */
    int cores_known;            /* 0: all that the host's starter is allowed */
    struct idset cores;         /* granted hardware threads, by operating system index */
    char *core_list;            /* instead: granted cores as "socket,core:socket,core", numbers that
                                   only the host itself can tell the meaning of; NULL: not stated */
    char cores_source[64];
    struct limits limits;
    char limits_source[64];
};

struct allocation {
    const char *adapter; /* name of the adapter that read it */
    char job_id[64];     /* "" without a resource manager */
    struct alloc_host *hosts;
    size_t nhosts;
    char source[160]; /* of the hosts as a whole, where theirs differ: "host file 'x'"; "": none */
    char more[96];    /* what asks the manager for N slots, before the N: "qsub -pe lab"; or "" */
    int may_oversubscribe; /* nothing was granted, so nothing forbids more ranks than slots */
};

void allocation_free(struct allocation *a);
/* A new host at the end; copies name. NULL: out of memory. */
struct alloc_host *allocation_add_host(struct allocation *a, const char *name);
enum { ALLOCATION_CORES_MAX = 65536 }; /* bytes of a host's core_list */
/* Put "socket,core:..." of length n behind the host's core_list. 0, or -1 with errno. */
int allocation_add_cores(struct alloc_host *h, const char *cores, size_t n);
uint32_t allocation_slots(const struct allocation *a);

#endif
