/* SPDX-License-Identifier: BSD-3-Clause */
/* watch-protocol.h - records between front and watch, which finds processes that did not ask
 *
 * Watch proves what /proc shows of a process. Front has the reader prove the rest, has the job's
 * cgroup made, and tells watch its name. Watch then has the mover put the process there. */
#pragma once

#include "containment/cgroup/dir.h"
#include "node-daemon/lib/reader-protocol.h"

enum watch_op {
    /* watch to front */
    WATCH_CLAIM,   /* the process is of this job: claim; answered by WATCH_JOB of the same id */
    WATCH_TASKS,   /* which tasks are there? answered by WATCH_TASK ... with more */
    WATCH_ENTERED, /* processes were put into dir: front may write its sentinel */
    WATCH_DAEMON,  /* a daemon of a manager has started: the ground is made ready for its jobs */
    WATCH_WHO,     /* the answer to the same question: dir, text */
    /* front to watch, and WATCH_WHO: which processes are in dir, and in what do they wait? Only
     * watch may see that of others' processes. */
    WATCH_JOB,  /* the job's directory is dir, and the job uid's; or code, text: it is put into
                   no job, as the claim does not hold (is_refused) or it cannot be done */
    WATCH_TASK, /* a task: job, task, group, and if its job has ended (ended 1) uid; more 0: there
                   are no others */
    WATCH_CONSIDER, /* this pid may be of the manager's */
    WATCH_LOOK,     /* look at everything: events were lost, or (ended 1) jobs have ended */
};

struct watch_record {
    struct record_head head;     /* what: enum watch_op */
    int32_t code;                /* JOB: 0, or errno */
    int32_t pid;                 /* CLAIM (for messages), CONSIDER */
    uint32_t group, more;        /* TASK, LOOK */
    uint32_t uid, is_refused;    /* JOB; TASK: uid */
    uint32_t ended;              /* TASK, LOOK */
    uint32_t part;               /* WHO: of the ground */
    char dir[CGROUP_NAME_MAX];   /* JOB, ENTERED, WHO */
    struct reader_request claim; /* CLAIM: manager, job, task and the rest, as for READER_CLAIM;
                                    TASK: job, task */
    char text[256];
};
