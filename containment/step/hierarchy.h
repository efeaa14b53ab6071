/* SPDX-License-Identifier: BSD-3-Clause */
/* hierarchy.h - the step's subtree in one hierarchy: made, given controllers, removed */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "containment/cgroup/driver.h"

#define CGROUP_STEP_PREFIX "mprun."

struct hierarchy {
    const struct cgroup_driver *driver;
    unsigned available; /* controllers that the subtree can be given; tree.c and leaf.c change it */
    unsigned controllers; /* controllers that `top` has, for limits of the host */
    unsigned for_ranks;   /* controllers that leaves have */
    bool every_rank;    /* all ranks get a leaf here, not only those with a limit; set by tree.c */
    bool missed;        /* made too late: some rank is not in it; set by leaf.c */
    char *parent;       /* directory below which `top` is made */
    char *top;          /* parent/mprun.<step> */
    char *ranks;        /* top/ranks */
    char *home;         /* where processes in `starter` came from; NULL: none was moved */
    unsigned turned_on; /* controllers that this process enabled in `parent` to get them */
    int parent_fd, top_fd, ranks_fd; /* -1: not made */
    int ranks_procs_fd; /* cgroup.procs of `ranks`, for ranks without a leaf here; -1: not open.
                           Opened by leaf.c, closed by hierarchy.c */
};

void hierarchy_init(struct hierarchy *h, const struct cgroup_driver *driver, const char *parent,
                    unsigned available, const char *step_name);
void hierarchy_free(struct hierarchy *h);
/* Makes top and ranks. movers: mprun's own processes that have to leave `parent` before it can have
 * controllers. leaves: ranks will get leaves of their own. Returns 0; -1 with err, and nothing is
 * left behind. */
int hierarchy_make(struct hierarchy *h, const pid_t *movers, size_t nmovers, bool leaves,
                   struct error *err);
/* Gives these controllers to `ranks` too, which is made. Returns those that it could be given. */
unsigned hierarchy_add_controllers(struct hierarchy *h, unsigned controllers);
/* Moves a process of mprun's into `starter`, unless it is in the subtree already. */
int hierarchy_adopt(struct hierarchy *h, pid_t pid, struct error *err);
/* Moves a process back to where the adopted ones came from. */
int hierarchy_send_home(const struct hierarchy *h, pid_t pid, struct error *err);
int hierarchy_remove(struct hierarchy *h, struct error *err); /* EBUSY: try again later */

static inline bool hierarchy_made(const struct hierarchy *h)
{
    return h->top_fd >= 0;
}
static inline struct cgroup_at hierarchy_top(const struct hierarchy *h)
{
    return (struct cgroup_at){h->top_fd, "."};
}
static inline struct cgroup_at hierarchy_ranks(const struct hierarchy *h)
{
    return (struct cgroup_at){h->ranks_fd, "."};
}
