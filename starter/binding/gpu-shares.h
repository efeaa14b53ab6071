/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu-shares.h - the GPUs of each rank of this host, where ranks are to have some of their own
 * (--gpus-per-rank) */
#pragma once

#include "containment/cgroup/devices.h"
#include "plan/gpus.h"
#include "starter/binding/host-gpus.h"

enum { GPU_LIST_MAX = 640 }; /* bytes of a rank's list */

struct grant_answer;
struct launch;
struct rank_binding;

struct gpu_shares { /* others read host and first; as zero, no rank has GPUs of its own */
    struct host_gpus host;
    /* private to gpu-shares.c */
    bool is_asked; /* --gpus-per-rank, here or in another world of this host */
    struct plan_gpu *gpu;
    struct plan_gpu_wish *wish; /* of the ranks by their index on this host */
    struct idset *ranks;        /* likewise: indexes of host.gpu */
    uint32_t nranks;
    struct gpu_shares *first; /* of another world on this host: has host and gpu; NULL: it is the
                                 first itself */
};

/* Which GPUs this host has for ranks, and those of each rank: as the step says, and near its cores.
 * granted: mprund's answer, for those that the job has here; none: by the manager's variables of
 * this process, else all of the machine's. The binding must be chosen, and live as long. -1 with
 * err: there are too few. */
int gpu_shares_choose(struct gpu_shares *s, const struct launch *launch,
                      const struct rank_binding *b, const struct grant_answer *granted,
                      struct error *err);
/* The same for a further world of the step: what the other worlds have left. */
int gpu_shares_choose_more(struct gpu_shares *s, const struct launch *launch,
                           const struct rank_binding *b, struct gpu_shares *first,
                           struct error *err);
/* The ranks of this world have ended: others may have their GPUs. */
void gpu_shares_give_back(struct gpu_shares *s);
void gpu_shares_free(struct gpu_shares *s); /* that of the first world goes last */

/* Has this rank, by its index on this host, GPUs of its own? Then their ids, with commas between
 * them, are in ret. */
bool gpu_shares_of(const struct gpu_shares *s, uint32_t local, char ret[GPU_LIST_MAX]);
/* The ids of those that ranks of all worlds have, given that of the first, likewise. */
void gpu_shares_of_all(const struct gpu_shares *first, char ret[GPU_LIST_MAX]);
/* Do the drivers tell the device files of all GPUs that ranks can have here? */
bool gpu_shares_know_files(const struct gpu_shares *s);
/* The files of all of this machine's GPUs that are not the rank's, for at_hold_devices(). How many.
 */
size_t gpu_shares_others_files(const struct gpu_shares *s, uint32_t local,
                               struct cgroup_device ret[CGROUP_DEVICES_MAX]);
/* Bits 1 << enum gpu_kind of the variables that are to name GPUs here. */
unsigned gpu_shares_kinds(const struct gpu_shares *s);
