/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-config.h - what an execd of Grid Engine wrote about a task:
 * active_jobs/JOB.TASK[/N.HOST]/config */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "node-daemon/share.h"

enum { GE_BINDING_MAX = 2048 }; /* 256 cores and more */

struct ge_config {
    gid_t group;    /* add_grp_id: a supplementary group that the task's processes have */
    char owner[64]; /* job_owner: a user's name */
    unsigned cores; /* how many the job has on this host: one a slot */
    char binding[GE_BINDING_MAX]; /* which ones the execd gave this task, "socket,core:socket,core"
                                     as they are laid out; "": it said none */
    struct share share; /* host_slots, 1 where it is not said; h_rss and h_vmem as they were asked
                           for, for a slot or for the job. is_master is not set */
};

/* Lines KEY=VALUE. Values are partly the user's (job_name, paths), so a key that is used and stands
 * there twice makes the whole unusable. 0, or -1 with err. Pure. */
int ge_config_parse(const char *text, struct ge_config *ret, struct error *err);
/* "23.1": a job and task as directories are called. */
int ge_is_job(const char *name);
/* "1.n12": a slave task of it. */
int ge_is_task(const char *name);
