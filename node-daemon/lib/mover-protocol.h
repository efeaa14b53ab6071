/* SPDX-License-Identifier: BSD-3-Clause */
/* mover-protocol.h - requests to the mover, the only process that stays root, and its answers
 *
 * Each link carries one request at a time, and the mover answers it at once. A job is its
 * directory's name. The mover keeps nothing between questions: all state is the tree of cgroups. */
#pragma once

#include <stdbool.h>

#include "containment/cgroup/devices.h"
#include "containment/cgroup/dir.h"
#include "model/limits.h"
#include "model/usage.h"
#include "node-daemon/lib/records.h"

enum { MOVER_TEXT_MAX = 16384, MOVER_NOTE_MAX = 16, MOVER_PART_MAX = 512 };

enum mover_op {
    MOVER_MAKE,      /* make the job's cgroups, for uid, with these limits, hardware threads (text)
                        and notes still to come; mark BEING_MADE */
    MOVER_MARK,      /* give them this mark */
    MOVER_LIMIT,     /* these limits instead of those that hold */
    MOVER_CPUS,      /* these hardware threads (text) */
    MOVER_DEVICES,   /* hold it to these devices; or one of its user's cgroups in v2 (text:
                        "/u/mprun.x-0/ranks/0.0.0") */
    MOVER_MEMS,      /* these memory nodes (text) */
    MOVER_NOTE,      /* keep text under this name with the job */
    MOVER_READ_NOTE, /* answer: text */
    MOVER_OWN,       /* the job, which is nobody's, is this user's from now on */
    MOVER_WHERE,   /* in which job is the process that connected (fd)? answer: dir ("": none), part,
                      uid of the process */
    MOVER_ENTER,   /* put it there. From front: fd is its connection; from watch: its /proc/PID */
    MOVER_END,     /* one turn of ending the job: kill as `kill` says, remove what is empty */
    MOVER_PREPARE, /* v1: fill the cpuset of the ground from above; exclusive: make it so */
};

/* A job's directory is marked by its mode, so that a daemon that starts again knows it. Every mark
 * lets others read: the mode is information by root, not protection. */
enum mover_mark {
    MARK_OTHER, /* none of these: being made, or it has ended */
    MARK_WHOLE,
    MARK_BOUND,   /* and root chose its limits */
    MARK_AWAITED, /* and nothing of it came yet */
    MARK_ENDED,
};

enum mover_part { PART_TASK, PART_HOME };
enum mover_kill { KILL_NOTHING, KILL_USERS, KILL_ALL, KILL_EACH /* that cgroup.kill misses */ };

struct mover_request {
    struct record_head head;   /* what: enum mover_op */
    char dir[CGROUP_NAME_MAX]; /* "ge-23.1-0a1b2c3d" */
    uint32_t uid;              /* MAKE, OWN; 0: nobody's yet */
    uint32_t mark;             /* MARK */
    uint32_t part;             /* ENTER */
    uint32_t kill;             /* END */
    uint32_t exclusive;        /* MAKE, PREPARE */
    uint32_t descendants;      /* MAKE: the most cgroups below the user's part */
    struct limits limits;      /* MAKE, LIMIT */
    uint32_t ndevices;         /* DEVICES */
    struct cgroup_device device[CGROUP_DEVICES_MAX];
    char name[MOVER_NOTE_MAX]; /* of a note: letters */
    char text[MOVER_TEXT_MAX];
};

struct mover_answer {
    struct record_head head; /* what: 0, or errno; then text is a sentence */
    char dir[CGROUP_NAME_MAX];
    uint32_t gone;        /* END: nothing is left of it */
    uint32_t populated;   /* END: processes are in it */
    uint32_t cpus_code;   /* MAKE: why the hardware threads could not be had; 0: they could */
    uint32_t goes_on;     /* END: there was more than one turn can remove */
    struct limits limits; /* MAKE, LIMIT: held_by says which hold */
    struct usage usage;   /* END: what it used, where nobody is in it */
    char part[MOVER_PART_MAX];
    char text[MOVER_TEXT_MAX];
};
