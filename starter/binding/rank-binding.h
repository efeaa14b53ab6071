/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-binding.h - which cores each rank of this host is bound to */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/idset.h"
#include "plan/plan.h"

struct rank_binding { /* others only read it; as zero, nothing is chosen */
    const struct launch *launch;
    const struct idset *allowed;
    struct idset granted;       /* as LAUNCH says, less what may not be used here */
    bool has_all;               /* all that is allowed is granted; else `granted` */
    struct topology *topology;  /* NULL: not needed */
    struct plan_binding plan;   /* of the ranks by their index on this host */
    int ledger;                 /* core-ledger.h; the keeper has it, too; -1: no cores were taken */
    struct rank_binding *next;  /* of another world on this host: has its topology and ledger from
                                   the first */
    struct rank_binding *first; /* NULL: it is the first itself */
    bool has_ended;             /* its cores are free for other worlds */
    bool has_no_ledger;         /* of the first: it cannot be opened, which was said */
};

/* Load the topology where it is needed, and choose cores as the step says: those that other steps
 * of this user have not taken. They are this step's until its ranks have ended: the keeper holds
 * them, too, on keeper_fd. allowed: hardware threads that this process may run on. launch and
 * allowed must live as long. -1 with err. */
int rank_binding_choose(struct rank_binding *b, const struct launch *launch,
                        const struct idset *allowed, int keeper_fd, struct error *err);
/* The same for a further world of the step: cores that none of its worlds has. Where the first
 * world has ranks that are not bound, no rank is. */
int rank_binding_choose_more(struct rank_binding *b, const struct launch *launch,
                             struct rank_binding *first, int keeper_fd, struct error *err);
/* All ranks of the world have ended here: its cores are free from now on. */
void rank_binding_end(struct rank_binding *b);
/* The cores are free from now on; those of the first go last. */
void rank_binding_free(struct rank_binding *b);

/* Hardware threads that ranks may use here: granted and allowed. */
const struct idset *rank_binding_usable(const struct rank_binding *b);
/* The memory nodes that ranks can have here, as a list, which the caller frees; NULL: unknown. */
char *rank_binding_memory_nodes(const struct rank_binding *b);
/* The hardware threads that a rank is bound to, by its index on this host; NULL: it is not bound.
 */
const struct idset *rank_binding_threads(const struct rank_binding *b, uint32_t local);
/* Adds those that ranks of all worlds are bound to. */
void rank_binding_all_threads(const struct rank_binding *first, struct idset *ret);
/* The affinity that a rank gets: the above, or what was granted; NULL: it keeps the starter's. */
const struct idset *rank_binding_affinity(const struct rank_binding *b, uint32_t local);
