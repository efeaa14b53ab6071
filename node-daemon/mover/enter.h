/* SPDX-License-Identifier: BSD-3-Clause */
/* enter.h - putting a process into its job's cgroup, and finding in which one it is */
#pragma once

#include "node-daemon/lib/ground.h"
#include "node-daemon/lib/mover-protocol.h"
#include "node-daemon/mover/identity.h"

/* Where it is: dir ("": in no job's), part and uid of the answer. 0; -1 with err: it has ended. */
int enter_where(const struct ground *g, const struct identity *who, struct mover_answer *a,
                struct error *err);
/* Put it there, in all hierarchies. A process that asked for itself (is_connection) goes into the
 * user's part if it is the job's user's, and to the task if it is root's; one that watch has found,
 * to the task, if it is root's or the user's. No process leaves another job. 0, or -1 with err:
 * ESRCH, it ended meanwhile; EPERM. */
int enter_job(const struct ground *g, const struct identity *who, bool is_connection,
              const char *dir, enum mover_part part, struct error *err);
