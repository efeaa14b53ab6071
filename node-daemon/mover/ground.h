/* SPDX-License-Identifier: BSD-3-Clause */
/* ground.h - the cgroup below which all jobs have theirs, in each hierarchy that is used */
#pragma once

#include "common/error.h"
#include "containment/cgroup/driver.h"

enum { GROUND_PARTS = 1 + CGROUP_CONTROLLER_COUNT, GROUND_TEXT_MAX = 128 };
#define GROUND_LACKS_ADVICE                                                                        \
    "no hierarchy of cgroups that is mounted here gives it to them (v2 knows neither devices nor " \
    "net_cls)"

struct ground_part {
    const struct cgroup_driver *driver;
    int fd;               /* the directory */
    char *path;           /* where it is seen */
    unsigned controllers; /* that jobs can have here */
};

struct ground {
    /* The first one tracks: what is there is which jobs there are. cgroup v2 where it is mounted,
     * else the v1 hierarchy that can kill, count or limit. */
    struct ground_part part[GROUND_PARTS];
    size_t n;
    char *cgroup;    /* its name in every hierarchy, as /proc/PID/cgroup tells it */
    char *v2_cgroup; /* the same in cgroup v2, where systemd may have put it elsewhere */
};

/* MAKE it where it is missing, with controllers enabled down to it. Or only LOOK whether that could
 * be done, and change nothing: parts are then open as far as they are there. cgroup, and v2_cgroup
 * for cgroup v2: "/mprund", from the hierarchy's root. controllers: those that jobs are to have. 0,
 * or -1 with err: nothing is open. */
enum ground_use { GROUND_MAKE, GROUND_LOOK };
int ground_open(struct ground *g, const char *cgroup, const char *v2_cgroup, unsigned controllers,
                enum ground_use use, struct error *err);
void ground_close(struct ground *g);
static inline struct cgroup_at ground_at(const struct ground *g, size_t part, const char *name)
{
    return (struct cgroup_at){g->part[part].fd, name};
}
/* Those of the wanted controllers that jobs have in no hierarchy here. */
unsigned ground_lacks(const struct ground *g, unsigned controllers);
/* "memory, pids": their names. Returns text. */
const char *ground_words(unsigned controllers, char text[GROUND_TEXT_MAX]);
/* In v1: cpus and memory nodes as the cgroup above has them where there are none; exclusive: and
 * the cpus no sibling's. In v2 all of this is as it was made. 0, or -1 with err. */
int ground_prepare(const struct ground *g, int exclusive, struct error *err);
/* What of this process's cgroup is below the ground, in the part that tracks: "JOB/u/home", "" for
 * the ground itself; caller frees. NULL: it is elsewhere, or has ended. */
char *ground_membership(const struct ground *g, pid_t pid);
