/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-job.h - reads a job from `qstat -xml -j JOB`: what it asked for and what it was given
 *
 * It understands the documents of Grid Engine 6 and 8, which name no hosts, and those of Univa and
 * Gridware, which name hosts and what was granted on each. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rm-adapters/gridengine/complex-value.h"
#include "rm-adapters/hosts/hostlist.h"

/* How a request counts: CE_consumable. */
enum gridengine_consumable {
    GRIDENGINE_NOT_CONSUMABLE = 0,
    GRIDENGINE_PER_SLOT = 1,
    GRIDENGINE_PER_JOB = 2,  /* once, on the host of the master task */
    GRIDENGINE_PER_HOST = 3, /* once on each host */
};

/* The tasks for whose slots a request is: JRS_scope. */
enum gridengine_scope {
    GRIDENGINE_ALL_TASKS = 0,
    GRIDENGINE_MASTER_TASK = 1,
    GRIDENGINE_SLAVE_TASKS = 2,
};

struct gridengine_request { /* hard ones only: soft ones are wishes */
    char *name;
    struct gridengine_value value; /* for one slot; not set where it is a text */
    unsigned consumable, scope;
};

struct gridengine_grant { /* all that a host gives, already multiplied by its slots */
    char *name, *host;
    struct gridengine_value amount;
    char *ids; /* "0 1", "mic0": which ones; NULL where only their number is known */
    size_t nids;
};

struct gridengine_job {
    uint32_t id, task;
    char *owner, *name, *pe; /* as Grid Engine has them, any bytes; "" where they are missing */
    struct gridengine_request *requests;
    size_t nrequests;
    struct hostlist hosts; /* with their slots, the master task's first; none where unknown */
    struct gridengine_grant *grants;
    size_t ngrants;
    size_t ntasks;   /* tasks of the job that the document names */
    bool task_known; /* the task is among them, so it runs */
};

/* Read the job's task (0: its only one). 0 with *ret, which gridengine_job_free() empties; or -1
 * with the errors of gridengine_xml_walk(), or ESRCH: Grid Engine knows no such job. */
int gridengine_job_parse(const char *bytes, size_t n, uint32_t task, struct gridengine_job *ret,
                         struct error *err);
void gridengine_job_free(struct gridengine_job *job);

/* Read the hosts of task `task` (1 where the job is no array) of job `id` from `qstat -xml -g t
 * -r`, which has an entry for each task of a parallel job: the master task's host first, with their
 * slots; none where it does not run. 0 with *ret, which hostlist_free() empties, or -1. */
int gridengine_tasks_parse(const char *bytes, size_t n, uint32_t id, uint32_t task,
                           struct hostlist *ret, struct error *err);
