/* SPDX-License-Identifier: BSD-3-Clause */
/* ground.h - the cgroup below which all jobs have theirs, in each hierarchy that is used */
#pragma once

#include "common/error.h"
#include "containment/cgroup/driver.h"
#include "node-daemon/lib/start.h"

enum { GROUND_PARTS = PLAN_PARTS };
struct ground_part {
    const struct cgroup_driver *driver;
    int fd;               /* the directory */
    const char *path;     /* where it is seen */
    unsigned controllers; /* that jobs can have here */
};

struct ground {
    /* The first one tracks: what is there is which jobs there are. cgroup v2 where it is mounted,
     * else the v1 hierarchy that can kill, count or limit. */
    struct ground_part part[GROUND_PARTS];
    size_t n;
    const char *cgroup;    /* its name in every hierarchy, as /proc/PID/cgroup tells it */
    const char *v2_cgroup; /* the same in cgroup v2, where systemd may have put it elsewhere */
};

static inline struct cgroup_at ground_at(const struct ground *g, size_t part, const char *name)
{
    return (struct cgroup_at){g->part[part].fd, name};
}
/* The ground of the plan, whose directories root has opened: they, and the texts, stay start's. */
void ground_of_start(const struct start *s, struct ground *ret);
/* The part of a process's cgroup below the ground, in the part that tracks: "JOB/u/home"; "" for
 * the ground itself. proc: its /proc/PID. 0; or -1: it is elsewhere, or has ended. */
int ground_below(const struct ground *g, int proc, char *buf, size_t n);
/* The user whose job this is, 0: nobody's. 0, or -1 with errno. */
int ground_owner(const struct ground *g, const char *dir, uid_t *ret);
/* A name of a job's directory, "ge-23.1-0a1b2c3d": nothing that leads elsewhere. */
bool ground_is_job(const char *dir);
