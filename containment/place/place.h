/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h - where a step may make its cgroups, and the sources that can find such a place
 *
 * A source answers through a callback, because one such as the node daemon acts on mprun's behalf;
 * the callback may come before the call returns. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/loop.h"
#include "containment/cgroup/controllers.h"

/* A writable place. Paths are absolute directories; NULL: no such place. */
struct cgroup_place {
    const char *source;      /* name of the source that found it */
    char *v2;                /* parent for the step's subtree in a cgroup2 mount */
    unsigned v2_controllers; /* set of controllers that v2 subtrees can have */
    char *v2_why;            /* why it lacks memory or pids; NULL: it has them */
    pid_t *v2_movers;        /* mprun's processes in v2 that have to go into `starter` before the */
    size_t nv2_movers;       /* place can give controllers; moved back when the tree goes */
    char *v1[CGROUP_CONTROLLER_COUNT]; /* parent in the hierarchy of each v1 controller */
};
void cgroup_place_free(struct cgroup_place *p);

/* place is valid during the call. place NULL: there is none, and err says why, without text where
 * there is nothing worth saying. */
typedef void (*cgroup_place_fn)(void *arg, const struct cgroup_place *place,
                                const struct error *err);

struct cgroup_source {
    const char *name; /* "daemon", "own", later "rm", "systemd" */
    /* Find a place. self: mprun's own processes on this host; a cgroup that holds only these may be
     * reorganised. 0: done will be called once; -1 with err: it will not (err without text: there
     * is nothing worth saying). */
    int (*acquire)(struct loop *l, const pid_t *self, size_t nself, cgroup_place_fn done, void *arg,
                   struct error *err);
};
/* In the order in which they are asked; ends with NULL. */
extern const struct cgroup_source *const cgroup_sources[];
/* The node daemon's part of the job's cgroup: daemon.c. */
extern const struct cgroup_source cgroup_source_daemon;
/* The calling process's own (delegated) cgroup: own.c. */
extern const struct cgroup_source cgroup_source_own;

/* The last words of the error of cgroup_source_own. A program leaves them out where a resource
 * manager has the processes: the advice is of no use there. */
#define CGROUP_ADVICE                                                                              \
    ". To get one, start in a delegated scope, for example by "                                    \
    "'systemd-run --user --scope -p Delegate=yes mprun ...'"
