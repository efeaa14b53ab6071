/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu-shares.h - the GPUs of each rank of this host, if the step gives ranks GPUs of their own
 * (--gpus-per-rank) */
#pragma once

#include "containment/cgroup/devices.h"
#include "plan/gpus.h"
#include "starter/binding/host-gpus.h"

enum { GPU_LIST_MAX = 640 }; /* bytes of a rank's list */

struct grant_answer;
struct launch;
struct rank_binding;

struct gpu_shares { /* other files read host and first; all zero: no rank has GPUs of its own */
    struct host_gpus host;
    /* private to gpu-shares.c */
    bool is_asked; /* --gpus-per-rank, here or in another world of this host */
    struct plan_gpu *gpu;
    struct plan_gpu_wish *wish; /* by the rank's index on this host */
    struct idset *ranks;        /* by the rank's index on this host: indexes of host.gpu */
    uint32_t nranks;
    struct gpu_shares *first; /* of the first world on this host, which has host and gpu; NULL: this
                                 is the first */
};

/* Finds the GPUs that this host has for ranks, and deals them to the ranks: as the step says, and
 * near each rank's cores. It uses the job's GPUs in granted (mprund's answer); else those that the
 * manager's variables of this process name; else all of the machine. b must be chosen, and outlive
 * s. -1 with err: there are too few. */
int gpu_shares_choose(struct gpu_shares *s, const struct launch *launch,
                      const struct rank_binding *b, const struct grant_answer *granted,
                      struct error *err);
/* Does the same for a further world of the step, with the GPUs that the other worlds have left. */
int gpu_shares_choose_more(struct gpu_shares *s, const struct launch *launch,
                           const struct rank_binding *b, struct gpu_shares *first,
                           struct error *err);
/* The ranks of this world have ended: other worlds may have their GPUs. */
void gpu_shares_give_back(struct gpu_shares *s);
void gpu_shares_free(struct gpu_shares *s); /* free the first world's last */

/* Returns whether the rank with this index on this host has GPUs of its own; then their ids,
 * separated by commas, are in ret. */
bool gpu_shares_of(const struct gpu_shares *s, uint32_t local, char ret[GPU_LIST_MAX]);
/* Writes the ids of the GPUs that ranks of all worlds have, separated by commas. */
void gpu_shares_of_all(const struct gpu_shares *first, char ret[GPU_LIST_MAX]);
/* Returns whether the drivers tell the device files of all GPUs that ranks can have here. */
bool gpu_shares_know_files(const struct gpu_shares *s);
/* Fills ret with the device files of all GPUs of this machine that the rank does not have, for
 * at_hold_devices(). Returns their number. */
size_t gpu_shares_others_files(const struct gpu_shares *s, uint32_t local,
                               struct cgroup_device ret[CGROUP_DEVICES_MAX]);
/* Returns bits 1 << enum gpu_kind: the variables that are to name GPUs here. */
unsigned gpu_shares_kinds(const struct gpu_shares *s);
