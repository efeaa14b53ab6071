/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.h - the files of a hierarchy, and how to use them: one driver in v1.c, one in v2.c
 *
 * Functions of a driver that return int return 0, or -1 with errno, unless their comment says
 * otherwise. */
#pragma once

#include <stdint.h>

#include "containment/cgroup/controllers.h"
#include "containment/cgroup/dir.h"
#include "model/limits.h"
#include "model/usage.h"

struct oom_count {
    uint64_t hits;  /* times this cgroup exceeded its own limit (v1: reached it) */
    uint64_t kills; /* processes that the kernel killed in it (v2: and below), for any limit */
};

struct cgroup_driver {
    int version;
    /* Gives these controllers to the children of d. Returns the controllers that the children have
     * then. v1: all of them, always. */
    unsigned (*enable)(struct cgroup_at d, unsigned controllers);
    void (*disable)(struct cgroup_at d, unsigned controllers); /* v1: NULL */
    /* Prepares a new, empty cgroup to take processes. */
    int (*prepare)(struct cgroup_at parent, struct cgroup_at d, unsigned controllers);
    /* Sets the limits in *l that these controllers hold. Reads back into *l what the kernel took,
     * and fills in held_by. */
    void (*limit)(struct cgroup_at d, unsigned controllers, struct limits *l);
    /* Before another limit() of the same cgroup: lifts limits that *l does not set, and those that
     * are in the way of new ones. */
    void (*lift)(struct cgroup_at d, unsigned controllers, const struct limits *l);
    /* Adds to *u what these controllers have counted. */
    void (*usage)(struct cgroup_at d, unsigned controllers, struct usage *u);
    const char *memory; /* file with the bytes that d and all below use now */
    int (*oom_count)(struct cgroup_at d, struct oom_count *ret);
    /* Starts to freeze or thaw. Returns 1: done; 0: not yet, call again. */
    int (*freeze)(struct cgroup_at d, int frozen);
    /* Returns 1: a process is in d or below; 0: none. */
    int (*populated)(struct cgroup_at d);
    /* Has the kernel kill all in d and below. -1 with ENOENT: this kernel cannot. NULL: v1. */
    int (*kill)(struct cgroup_at d);
};
/* Calls driver->limit(), and also sets the limit of memory and swap together. */
void cgroup_limit(const struct cgroup_driver *driver, struct cgroup_at d, unsigned controllers,
                  struct limits *l);

extern const struct cgroup_driver cgroup_driver_v1;
extern const struct cgroup_driver cgroup_driver_v2;
