/* SPDX-License-Identifier: BSD-3-Clause */
/* mover.h - functions that the files of the mover share */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "containment/cgroup/dir.h"
#include "node-daemon/lib/ground.h"
#include "node-daemon/lib/mover-protocol.h"

/* ---- jobs.c ---------------------------------------------------------------------------------- */

/* Below the ground, in each hierarchy:
 *     MANAGER-JOB-NONCE/        root's: the job's limits; its mode is its mark
 *     MANAGER-JOB-NONCE/task    v2: what root put into the job (a shepherd and what it starts)
 *     MANAGER-JOB-NONCE/u       v2: the user's, to make cgroups in
 *     MANAGER-JOB-NONCE/u/home  v2: processes that asked for a place
 * In v1 all processes of the job are in its one directory, and the user owns nothing. The
 * directory's group has the number of the job's user.
 *
 * Each function returns 0, or -1 with err. */

int job_make(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
             struct error *err);
int job_mark(const struct ground *g, const char *dir, enum mover_mark mark, struct error *err);
int job_limit(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
              struct error *err);
int job_set_cpus(const struct ground *g, const struct mover_request *q, struct error *err);
/* Holds it in each hierarchy that can; -1: none can. A cgroup of the job's user gets a program of
 * its own, instead of the job's. */
int job_hold_devices(const struct ground *g, const struct mover_request *q, struct error *err);
int job_own(const struct ground *g, const char *dir, uid_t uid, struct error *err);
/* End the job for a turn of some milliseconds. */
int job_end(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
            struct error *err);

/* ---- identity.c ------------------------------------------------------------------------------ */

/* A pid names a process only while that lives. An open /proc/PID stays with its process: when that
 * has ended it reads as nothing, even if another process has the pid. */

struct identity {
    pid_t pid;
    uid_t uid;      /* effective: of a connection, when it connected */
    uid_t real_uid; /* of a connection: the same */
    int proc;       /* its /proc/PID */
};

/* The process that connected. 0 with *ret, or -1 with err: it has ended, or cannot be told from a
 * later one of its number. */
int identity_of_socket(int socket, struct identity *ret, struct error *err);
/* The process whose /proc/PID this is; the caller keeps dir. 0, or -1 with err. */
int identity_of_directory(int dir, struct identity *ret, struct error *err);
void identity_close(struct identity *i);

/* ---- enter.c --------------------------------------------------------------------------------- */

/* Where it is: dir ("": in no job's), part and uid of the answer. 0; -1 with err: it has ended. */
int enter_where(const struct ground *g, const struct identity *who, struct mover_answer *a,
                struct error *err);
/* Put it there, in all hierarchies. A process that asked for itself (is_connection) goes into the
 * user's part if it is the job's user's, and to the task if it is root's; one that watch has found,
 * to the task, if it is root's or the user's. No process leaves another job. 0, or -1 with err:
 * ESRCH, it ended meanwhile; EPERM. */
int enter_job(const struct ground *g, const struct identity *who, bool is_connection,
              const char *dir, enum mover_part part, struct error *err);

/* ---- delegate.c ------------------------------------------------------------------------------ */

/* The directory, and of its files those that the kernel says are safe (/sys/kernel/cgroup/delegate)
 * become the user's: never the limits. 0, or -1 with errno. */
int delegate_to(struct cgroup_at d, uid_t uid);
