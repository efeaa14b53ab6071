/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine-job.h - what `qstat -xml -j JOB` says of a job: what it asked for and what it was
 * given
 *
 * Read are the documents of Grid Engine 6 and 8 (no hosts in them), of Univa's and of Gridware's
 * (hosts, and what was granted on each). */
#ifndef RM_ADAPTERS_GRIDENGINE_JOB_H
#define RM_ADAPTERS_GRIDENGINE_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "rm-adapters/gridengine-value.h"
#include "rm-adapters/hostlist.h"

enum gridengine_consumable { /* CE_consumable */
                             GRIDENGINE_NOT_CONSUMABLE = 0,
                             GRIDENGINE_PER_SLOT = 1,
                             GRIDENGINE_PER_JOB =
                                 2, /* counted once, on the host of the master task */
                             GRIDENGINE_PER_HOST = 3, /* counted once on each host */
};

enum gridengine_scope { /* JRS_scope: whose slots a request is for */
                        GRIDENGINE_ALL_TASKS = 0,
                        GRIDENGINE_MASTER_TASK = 1,
                        GRIDENGINE_SLAVE_TASKS = 2,
};

struct gridengine_request { /* a hard one: soft ones are wishes */
    char *name;
    struct gridengine_value value; /* for one slot; not set where it is a text */
    unsigned consumable, scope;
};

struct gridengine_grant { /* what a host gives: all of it, already multiplied by its slots */
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
    size_t ntasks;  /* tasks of the job that the document names */
    int task_known; /* this one is among them: it runs */
};

/* Error codes besides those of gridengine_xml_walk(): ESRCH, Grid Engine knows no such job.
 * task 0: the only one. 0 with *ret, which gridengine_job_free() empties, or -1. */
int gridengine_job_parse(const char *bytes, size_t n, uint32_t task, struct gridengine_job *ret,
                         struct error *err);
void gridengine_job_free(struct gridengine_job *job);

#endif
