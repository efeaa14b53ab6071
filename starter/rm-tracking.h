/* SPDX-License-Identifier: BSD-3-Clause */
/* rm-tracking.h - what the resource manager holds the processes of this host by, where it is no
 * cgroup of ours
 *
 * Grid Engine gives each of its tasks a supplementary group of its own, by which it counts and
 * limits what the task's processes use; its number stands in the task's spool directory, which
 * $SGE_JOB_SPOOL_DIR names and which belongs to the manager. A process keeps the group unless it is
 * root's or was begun by a login server. */
#ifndef STARTER_RM_TRACKING_H
#define STARTER_RM_TRACKING_H

#include <stddef.h>

/* 1, and a sentence about what holds this process; 0: nothing of which there is evidence. */
int rm_tracking(char *buf, size_t n);

#endif
