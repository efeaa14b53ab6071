/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-binding.h - which cores each rank of this host is bound to */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/text/idset.h"
#include "plan/plan.h"

struct rank_binding { /* other files only read it; all zero: nothing is chosen */
    const struct launch *launch;
    const struct idset *allowed;
    struct idset granted;       /* LAUNCH's grant without threads that may not be used here */
    bool has_all;               /* the grant is all of `allowed`; else it is `granted` */
    struct topology *topology;  /* NULL: not needed so far */
    struct plan_binding plan;   /* by the rank's index on this host */
    int ledger;                 /* core-ledger.h; the keeper has it, too; -1: no cores were taken */
    struct rank_binding *next;  /* of another world on this host; uses the first one's topology and
                                   ledger */
    struct rank_binding *first; /* of the first world; NULL: this is the first */
    bool has_ended;             /* its cores are free for other worlds */
    bool has_no_ledger;         /* the first's: the ledger cannot be opened, which was logged */
};

/* Looks at the machine as far as needed, and chooses cores as the step says, among those that no
 * other step of this user has taken. This step has them until its ranks have ended: the keeper
 * holds them, too, on keeper_fd. allowed: hardware threads that this process may run on. launch and
 * allowed must outlive b. -1 with err. */
int rank_binding_choose(struct rank_binding *b, const struct launch *launch,
                        const struct idset *allowed, int keeper_fd, struct error *err);
/* Does the same for a further world of the step, with cores that none of its worlds has. If the
 * first world has ranks that are not bound, this world's ranks are not bound either. */
int rank_binding_choose_more(struct rank_binding *b, const struct launch *launch,
                             struct rank_binding *first, int keeper_fd, struct error *err);
/* All ranks of the world have ended here: its cores are free from now on. */
void rank_binding_end(struct rank_binding *b);
/* Frees the cores. Free the first world's binding last. */
void rank_binding_free(struct rank_binding *b);

/* Returns the hardware threads that ranks may use here: granted and allowed. */
const struct idset *rank_binding_usable(const struct rank_binding *b);
/* Returns a list of the memory nodes that ranks can have; the caller frees it. NULL: unknown. */
char *rank_binding_memory_nodes(const struct rank_binding *b);
/* Returns the hardware threads of the rank with this index on this host; NULL: it is not bound. */
const struct idset *rank_binding_threads(const struct rank_binding *b, uint32_t local);
/* Adds the hardware threads of the bound ranks of all worlds to *ret. */
void rank_binding_all_threads(const struct rank_binding *first, struct idset *ret);
/* Returns the affinity that a rank gets: its own threads, or the grant; NULL: the starter's. */
const struct idset *rank_binding_affinity(const struct rank_binding *b, uint32_t local);
