/* SPDX-License-Identifier: BSD-3-Clause */
/* start.h - what the supervisor gives to the processes of mprund
 *
 * The supervisor (root) starts each of them with one descriptor, START_CONTROL, and sends through
 * it, as gifts, whatever the process needs: descriptors that only root can open, and links to other
 * processes. The gifts of the start end with GIFT_ALL. When a process has died, those that are
 * linked with it get the link to the next one as one more gift. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "containment/cgroup/controllers.h"
#include "node-daemon/lib/records.h"

enum { START_CONTROL = 3, PLAN_PARTS = 1 + CGROUP_CONTROLLER_COUNT, PLAN_PATH_MAX = 1024 };

/* The supervisor is ROLE_SUPERVISOR in names of processes only. */
enum role { ROLE_MOVER, ROLE_SIGNER, ROLE_READER, ROLE_WATCH, ROLE_FRONT, ROLES };

enum gift {
    GIFT_LINK,        /* to the process `which` (enum role) */
    GIFT_GROUND,      /* the directory of part `which` of the ground */
    GIFT_CONF,        /* the text of the configuration: a copy of root's */
    GIFT_TRACE,       /* the file for lines of the trace */
    GIFT_SENTINELS,   /* their directory, which is the process's own to write in */
    GIFT_SOCKET,      /* the public socket, which listens */
    GIFT_ROOT_SOCKET, /* root's own */
    GIFT_LOCK,        /* the file that shows signs of life */
    GIFT_KEY,         /* the file with the grant key */
    GIFT_ALL,         /* no descriptor: these were all for the start. The plan follows it */
    GIFTS
};

/* The plan that root made from the configuration, once. */
struct plan {
    struct record_head head;
    struct plan_ground { /* as in struct ground; it stays while mprund runs */
        uint32_t nparts;
        uint32_t asked;           /* controllers that jobs were to have then, */
        uint32_t enable, disable; /* these by mprund's own words */
        struct plan_part {
            uint32_t version;     /* of cgroups */
            uint32_t controllers; /* that jobs can have here */
            char path[PLAN_PATH_MAX];
        } part[PLAN_PARTS];
        char cgroup[PLAN_PATH_MAX], v2_cgroup[PLAN_PATH_MAX];
    } ground;
    uint32_t uid, gid; /* of the processes that are not root's */
    uint32_t verbose, to_syslog;
    uint32_t reads_roots; /* the reader is to read files that are root's alone: pbs_mom's */
    uint32_t zero;
};

struct gift_record {         /* supervisor to process, each with a descriptor but for GIFT_ALL */
    struct record_head head; /* what: enum gift */
    uint32_t which, zero;
};

enum told {
    TOLD_READY,        /* the process serves */
    TOLD_SOCKETS_GONE, /* front: somebody removed the sockets; they are to be made again */
};

struct told_record { /* process to supervisor; what: enum told */
    struct record_head head;
};

struct start {
    struct plan plan;
    int link[ROLES], ground[PLAN_PARTS];
    int of[GIFTS]; /* the other gifts; -1: there is none */
};

/* Take the gifts of the start, waiting for them. 0, or -1 with err. */
int start_receive(struct start *ret, struct error *err);
/* Take one more gift, of which `link` or `of` is the new one: the old descriptor is closed. 0 with
 * *ret_gift and *ret_which, or -1: the supervisor has gone, and the process is to end. */
int start_take(struct start *s, enum gift *ret_gift, unsigned *ret_which);
/* Is there a gift to take? start_await_link() may have taken those that were there. */
bool start_has_gift(void);
/* Wait until there is another link to this process than the one that has broken; 0, or -1: the
 * supervisor has gone, or none came in `seconds`. */
int start_await_link(struct start *s, enum role other, double seconds);
int start_tell(enum told what);
