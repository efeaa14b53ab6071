/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence.h - what a manager's root wrote of a job on this host: plain data, which goes between
 * processes */
#pragma once

#include <sys/types.h>

#include "containment/mprund-protocol.h"
#include "model/limits.h"
#include "node-daemon/lib/share.h"

enum { EVIDENCE_BINDING_MAX = 2048, EVIDENCE_WORD_MAX = 32 };

struct evidence {
    char name[GRANT_JOB_MAX];
    uid_t uid; /* 0: the manager does not say clearly whose it is, and so nobody's */
    /* The manager said this more than once, so that it is perhaps the user's word: the smallest
     * holds, or none. "": nothing */
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
