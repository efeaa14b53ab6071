/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence.h - in which job of a resource manager a process is, from what that manager's root wrote
 */
#pragma once

#include "containment/mprund-protocol.h"
#include "model/limits.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/mover/peer.h"
#include "node-daemon/front/share.h"

enum { EVIDENCE_BINDING_MAX = 2048 };

struct evidence { /* what a manager says of a job on this host */
    char name[GRANT_JOB_MAX];
    uid_t uid;            /* 0: the manager does not say clearly whose it is, and so nobody's */
    const char *twice;    /* what the manager said more than once, so that it is perhaps the user's
                             word: the smallest holds, or none. NULL: nothing */
    struct limits limits; /* of all its processes here, as far as it is known by now */
    struct share share;   /* what its manager wrote of this host */
    int demand_known;     /* what it asks for came with it, signed, and is in limits and gpus */
    struct demand demand;
    unsigned cores; /* how many it has here: one a slot; 0: the manager does not say */
    unsigned gpus;  /* how many it has here; 0: none, or the manager does not say */
    /* Which cores the manager gave the task that this is known from: "socket,core:socket,core" as
     * they are laid out; "": none. */
    char binding[EVIDENCE_BINDING_MAX];
};

/* One manager. err is a sentence for the user who asked: it tells nothing of other users' jobs. */
struct evidence_source {
    enum grant_manager manager;
    int (*is_configured)(const struct conf *c);
    /* In which job is this process? 0 with *ret, or -1. */
    int (*prove)(const struct conf *c, const struct peer *peer, struct evidence *ret,
                 struct error *err);
    /* What is known of a job, or of one task of it, for root who asks. 0, or -1. */
    int (*look_up)(const struct conf *c, const char *name, const char *task, struct evidence *ret,
                   struct error *err);
    /* Its own daemon of this host, by whose limits a job goes that has none; -1: not known. */
    pid_t (*daemon)(const struct conf *c);
    /* Does the manager still have the job on this host? 1, 0, or -1: cannot say. */
    int (*is_known)(const struct conf *c, const char *name);
};

/* The source of a manager that is configured here, or NULL. */
const struct evidence_source *evidence_of(const struct conf *c, enum grant_manager manager);
/* One source after the other until one proves it; err: the last one's, or that there is none. */
int evidence_prove(const struct conf *c, const struct peer *peer, struct evidence *ret,
                   enum grant_manager *ret_manager, struct error *err);

extern const struct evidence_source evidence_gridengine;
