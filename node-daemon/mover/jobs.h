/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h - a job's cgroups, made, limited, given to their user, ended
 *
 * Below the ground, in each hierarchy:
 *     MANAGER-JOB-NONCE/        root's: the job's limits; its mode is its mark
 *     MANAGER-JOB-NONCE/task    v2: what root put into the job (a shepherd and what it starts)
 *     MANAGER-JOB-NONCE/u       v2: the user's, to make cgroups in
 *     MANAGER-JOB-NONCE/u/home  v2: processes that asked for a place
 * In v1 all processes of the job are in its one directory, and nothing is the user's. Whose job it
 * is stands in the directory's group.
 *
 * Each of them returns 0, or -1 with err. */
#pragma once

#include "node-daemon/lib/ground.h"
#include "node-daemon/lib/mover-protocol.h"

int job_make(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
             struct error *err);
int job_mark(const struct ground *g, const char *dir, enum mover_mark mark, struct error *err);
int job_limit(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
              struct error *err);
int job_set_cpus(const struct ground *g, const struct mover_request *q, struct error *err);
/* In each hierarchy that can; -1: none can. A cgroup of its user's is held by a program of its own,
 * instead of the job's. */
int job_hold_devices(const struct ground *g, const struct mover_request *q, struct error *err);
int job_own(const struct ground *g, const char *dir, uid_t uid, struct error *err);
/* End the job for a turn of some milliseconds. */
int job_end(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
            struct error *err);
