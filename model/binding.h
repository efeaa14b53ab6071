/* SPDX-License-Identifier: BSD-3-Clause */
/* binding.h - how the ranks of a host are dealt to its cores, and what each of them is bound to */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Parts of a machine, from small to large. The numbers go over the wire. */
enum level {
    LEVEL_NONE,
    LEVEL_HWTHREAD,
    LEVEL_CORE,
    LEVEL_L1,
    LEVEL_L2,
    LEVEL_L3,
    LEVEL_NUMA,
    LEVEL_PACKAGE,
    LEVEL_BOARD,
    LEVEL_COUNT
};
const char *level_text(enum level l); /* "core", "L3 cache" */

enum bind_policy {
    BIND_DEFAULT, /* to cores when there are enough; else ranks are not bound */
    BIND_NONE,
    BIND_TO, /* asked for: cores of other steps may be shared; too few cores are an error */
};

enum cpu_list_kind {
    CPU_LIST_NONE,
    CPU_LIST_ONLY, /* one set: ranks use these hardware threads alone */
    CPU_LIST_EACH, /* sets with ';' between them: the first rank of a host has the first one, ... */
};

enum memory_bind {
    MEMORY_AS_IS,      /* nothing is asked for */
    MEMORY_DEFAULT,    /* the kernel's default, whatever mprun was started with */
    MEMORY_LOCAL,      /* near the core that a page is first used on */
    MEMORY_INTERLEAVE, /* page by page on all nodes, or those that are named */
    MEMORY_NODES,      /* only on those that are named */
};

enum { GPU_SHARERS_MAX = 1024 };

struct binding_request {
    enum bind_policy policy;
    uint32_t cores; /* of each rank; 0 is one: binding_cores() */
    enum level to;  /* each rank is bound to all of these that its cores are in; NONE: to cores */
    enum level map; /* ranks are dealt to these in turn; NONE: to the cores in order */
    uint32_t ppr;   /* at most so many ranks to each of `map`; 0: no bound */
    uint32_t set_ranks; /* 0: no sets. So many ranks share set_cores cores: a set. `cores` of them
                           are a rank's; 0: all. ppr counts sets */
    uint32_t set_cores;
    uint32_t set_turn;    /* ranks to each set of the host in turn; 0: set after set is filled */
    uint32_t gpus;        /* of the host's, for each rank alone; 0: none of its own */
    uint32_t gpu_sharers; /* instead: so many ranks share one; at most GPU_SHARERS_MAX; 0: none */
    bool in_turn;    /* ranks are numbered as they are dealt, and not one part's after another's */
    bool threads;    /* `cores` counts hardware threads */
    bool by_threads; /* so it does, and a rank has the whole cores that have as many */
    bool overload;   /* where cores do not suffice, ranks share them */
    bool if_supported; /* a machine without `to`: ranks are not bound */
    enum cpu_list_kind list_kind;
    char list[4096]; /* sets of hardware threads; behind a 'C' of cores, behind an 'N' of NUMA
                        nodes, in the machine's order */
    enum memory_bind memory;
    char memory_nodes[128]; /* idset of NUMA nodes, by operating system index; "": all */
    const char *slots; /* instead, borrowed: the cores of each rank of this host as a rank file has
                          them (plan/slot-list.h), with blanks between ranks; NULL: not given */
};

/* Slots that ranks with this request take on a host. */
static inline uint64_t binding_slots(const struct binding_request *b, uint32_t nranks)
{
    return b->set_ranks
               ? (uint64_t)(nranks / b->set_ranks + (nranks % b->set_ranks > 0)) * b->set_cores
               : (uint64_t)nranks * (b->cores ? b->cores : 1);
}

static inline uint32_t binding_cores(const struct binding_request *b)
{
    return b->cores ? b->cores : 1;
}
