/* SPDX-License-Identifier: BSD-3-Clause */
/* placement-options.h - options of the command line that say on which hosts and cores ranks run */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "launcher/cmdline/other-launchers/dialect.h"
#include "model/binding.h"

/* How ranks are numbered. */
enum rank_by {
    RANK_BY_DEFAULT, /* as --map-by places them; with parts of a host, as RANK_BY_FILL */
    RANK_BY_SLOT,    /* host after host; on a host in the order in which it deals to its parts */
    RANK_BY_NODE,    /* one of each host in turn */
    RANK_BY_FILL,    /* part after part */
    RANK_BY_SPAN,    /* one of each part in turn, over all hosts */
};

struct placement_options {
    uint32_t per_host; /* 0: no bound */
    uint32_t universe; /* ranks that the step is to have room for; 0: not said */
    uint32_t turn;     /* number of ranks that each host gets in turn; 0: fill host after host */
    bool by_slot;      /* the line says that hosts are filled, which is so without it, too */
    bool even;         /* instead: as many ranks to each host; numbered host after host */
    bool packs;        /* srun's word to fill hosts; without it srun spreads ranks evenly */
    bool in_sequence;  /* ranks go to the hosts one by one, as these are named */
    bool is_arbitrary; /* srun's word for in_sequence; its variable may name the file of hosts */
    const char *rank_file; /* says the host and the cores of each rank; NULL: none */
    bool needs_rank_file;  /* --map-by rankfile: one has to be named */
    bool by_core;          /* --map-by core */
    bool one_thread;       /* a core counts as one CPU: bind.by_threads has no effect */
    bool span;             /* deal ranks to the parts of all hosts as if these were one host */
    enum rank_by rank_by;
    uint32_t nodes_min, nodes_max; /* hosts to use; 0: as many as the ranks need */
    uint32_t first_host;           /* hosts of the job before this one are not used */
    const char *short_per_host;    /* -N of mprun's own dialect, else NULL */
    bool no_local;                 /* the host that mprun runs on is not used */
    const char *const *excluded;   /* lists of hosts that are not used, of the argv */
    size_t nexcluded;
    int oversubscribe; /* 1: allowed, 0: not, -1: as the allocation says */
    const char
        *topology; /* of the hosts, for --dry-run: a file, or hwloc's words; NULL: their own */
    bool says_map, says_bind, says_memory; /* an option says how ranks are dealt to hosts, bound to
                                              cores, and to memory */
    /* On each host. bind.cores: slots that each rank takes, too; 0: not said. */
    struct binding_request bind;
};

/* Take the value of --map-by (but for a rank file), and of --bind-to. 0, or -1 with what is wrong
 * with it. */
int placement_map_by(struct placement_options *p, const char *value, struct error *err);
int placement_bind_to(struct binding_request *b, const char *value, struct error *err);

/* --oversubscribe, and --nooversubscribe. -1 with err: the other has been said. */
int placement_oversubscribe(struct placement_options *p, bool on, struct error *err);

/* Set in b the defaults of the dialect's launcher that differ from mprun's.
 *
 * Open MPI's mpirun binds to what it maps by. Where the line has neither, up to two ranks are bound
 * to cores, and more to NUMA nodes, to which they are dealt. It numbers ranks as they are dealt,
 * but those of ppr:N:PART part after part. Hydra deals ranks to what it binds them to, and numbers
 * them as they are dealt. srun deals them to packages. b: what the line says. */
void placement_take_defaults(enum dialect d, const struct placement_options *place, uint64_t nranks,
                             struct binding_request *b);
