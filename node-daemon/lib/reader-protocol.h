/* SPDX-License-Identifier: BSD-3-Clause */
/* reader-protocol.h - front's questions to the reader, and events that the reader reports
 *
 * The reader may be stuck in a file system that does not answer, so front never waits for it: a
 * question has an id, its answer comes or does not, and others go on. */
#pragma once

#include "containment/mprund-protocol.h"
#include "node-daemon/lib/evidence.h"
#include "node-daemon/lib/records.h"

enum reader_op {
    READER_PROVE,   /* in which job is the process that connected (fd)? answer: manager, evidence */
    READER_LOOK_UP, /* what is written of job, or of its task; answer: evidence */
    READER_IS_KNOWN,  /* does the manager still have the job? answer: known 1, 0, -1: cannot say */
    READER_DEMAND,    /* what the job asks for, from the manager's own tool; answer: demand */
    READER_HOSTS,     /* hosts of the job that have slots in several lines: an answer for each with
                         more 1 (host, slots), and one with more 0 */
    READER_CLAIM,     /* as LOOK_UP, of a process that watch found: the rest of the record says what
                         has to hold; answer: evidence */
    READER_OWN_LIMIT, /* the memory limit of the manager's own daemon here; answer: own_limit */
    READER_TASKS,     /* all tasks that have a directory: an answer for each with more 1 (job, task,
                         group), and one with more 0 */
    /* by itself, id 0 */
    READER_TASK, /* a process of the task's has been noted: job, task, pid, group */
    READER_GONE, /* the job's directory was removed: job */
    READER_LOST, /* events were lost: look at everything */
};

struct reader_request {
    struct record_head head; /* what: enum reader_op */
    uint32_t manager;        /* enum grant_manager */
    uint32_t zero;
    char job[GRANT_JOB_MAX], task[GRANT_JOB_MAX];
    /* CLAIM, of Grid Engine's shepherd: it is in the directory dev, ino (0: not said), which must
     * be the task's; where it is no child of an execd's, its number must be what the directory
     * says. Of a process with the task's group: its real and effective uid, of which one must be
     * the owner's. Of a rule's process (manager GRANT_SITE): job is the whole name, owner who it
     * says it is of. */
    uint64_t dev, ino;
    int32_t shepherd;  /* its number; 0: it is a child of the execd's */
    uint32_t by_group; /* 1: uids count */
    uint32_t real_uid, uid;
    char owner[64];
};

struct reader_answer {
    struct record_head head; /* what: enum reader_op */
    int32_t code;            /* 0, or errno; then text is a sentence */
    uint32_t more;
    uint32_t manager;
    int32_t known;
    int32_t pid;
    uint32_t group;
    uint32_t slots;
    uint32_t zero;
    char job[GRANT_JOB_MAX], task[GRANT_JOB_MAX], host[GRANT_JOB_MAX];
    struct evidence evidence;
    char grant[GRANT_TOKEN_MAX + 7]; /* LOOK_UP, PROVE, CLAIM of a slave task: what its environment
                                        shows as a grant, not checked; "": none */
    uint8_t demand[DEMAND_BYTES];
    struct limit own_limit;
    char text[256]; /* printable */
};
