/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence.h - what a manager's root wrote about a job on this host; plain data for records */
#pragma once

#include <sys/types.h>

#include "containment/mprund-protocol.h"
#include "model/limits.h"
#include "node-daemon/lib/share.h"

enum { EVIDENCE_BINDING_MAX = 2048, EVIDENCE_WORD_MAX = 32 };

struct evidence {
    char name[GRANT_JOB_MAX];
    uid_t uid; /* 0: nobody's, because the manager does not name one owner */
    /* A name with several values, of which a user may have written some: the smallest value holds,
     * or none. "": no such name */
    char twice[EVIDENCE_WORD_MAX];
    struct limits limits; /* of all its processes here, as far as it is known by now */
    struct share share;   /* what its manager wrote of this host */
    int demand_known;     /* what it asks for came with it, signed, and is in limits and gpus */
    struct demand demand;
    unsigned cores; /* how many it has here: one a slot; 0: the manager does not say */
    unsigned gpus;  /* how many it has here; 0: none, or the manager does not say */
    /* The cores that the manager gave the task that this is known from: "socket,core:socket,core"
     * as they are laid out; "": none. */
    char binding[EVIDENCE_BINDING_MAX];
};
