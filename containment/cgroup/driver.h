/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.h - what the files of a hierarchy are called, and how they are used: v1.c and v2.c
 *
 * Functions of a driver that return int return 0, or -1 with errno, unless they say something
 * else. */
#pragma once

#include <stdint.h>

#include "containment/cgroup/controllers.h"
#include "containment/cgroup/dir.h"
#include "model/limits.h"
#include "model/usage.h"

struct oom_count {
    uint64_t hits;  /* times this cgroup's own limit ran out (v1: was reached) */
    uint64_t kills; /* processes killed in it (v2: and below), for whatever limit */
};

struct cgroup_driver {
    int version;
    /* Give these controllers to the children of d; returns those that the children have now.
     * v1: all of them, always. */
    unsigned (*enable)(struct cgroup_at d, unsigned controllers);
    void (*disable)(struct cgroup_at d, unsigned controllers); /* v1: NULL */
    /* Make a new, empty cgroup fit to take processes. */
    int (*prepare)(struct cgroup_at parent, struct cgroup_at d, unsigned controllers);
    /* Set what is set in *l and concerns these controllers. What the kernel took is read back, into
     * *l, and held_by is filled in. */
    void (*limit)(struct cgroup_at d, unsigned controllers, struct limits *l);
    /* Before another limit() of the same cgroup: lift what is not set in *l, or in the way. */
    void (*lift)(struct cgroup_at d, unsigned controllers, const struct limits *l);
    /* Add to *u what these controllers have counted. */
    void (*usage)(struct cgroup_at d, unsigned controllers, struct usage *u);
    const char *memory; /* file with the bytes that d and all below have now */
    int (*oom_count)(struct cgroup_at d, struct oom_count *ret);
    /* Start to freeze or thaw. 1: done; 0: not yet, call again. */
    int (*freeze)(struct cgroup_at d, int frozen);
    /* 1: a process is in d or below; 0: none. */
    int (*populated)(struct cgroup_at d);
    /* Let the kernel kill all in d and below. ENOENT: it cannot. NULL: v1 has no such file. */
    int (*kill)(struct cgroup_at d);
};
/* limit(), also of memory and swap together. */
void cgroup_limit(const struct cgroup_driver *driver, struct cgroup_at d, unsigned controllers,
                  struct limits *l);

extern const struct cgroup_driver cgroup_driver_v1;
extern const struct cgroup_driver cgroup_driver_v2;
