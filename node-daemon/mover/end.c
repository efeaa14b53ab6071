/* SPDX-License-Identifier: BSD-3-Clause */
/* end.c - one turn of ending a job: killed, read, removed
 *
 * Front asks again until nothing is left. A turn is short because other requests wait; the next
 * turn goes on. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "containment/cgroup/kill.h"
#include "node-daemon/mover/mover.h"

enum { TURN_MS = 8 };

/* v1, and v2 before 5.14: frozen, so that no process forks, as far as that can be had in a turn. A
 * freezer that sticks is asked again, and thawing is never left out. */
static void freeze_and_kill(struct cgroup_at d, const struct cgroup_driver *driver)
{
    for (int ms = 0; driver->freeze(d, 1) == 0 && ms < TURN_MS; ms++)
        (void)usleep(1000);
    (void)kill_each(d);
    (void)driver->freeze(d, 0);
}

static void kill_part(struct cgroup_at d, const struct cgroup_driver *driver)
{
    if (!driver->kill || driver->kill(d) < 0)
        freeze_and_kill(d, driver);
}

static void kill_users(const struct ground *g, const char *dir)
{
    char u[CGROUP_NAME_MAX + 8];
    if (g->part[0].driver->version != 2)
        return;
    snprintf(u, sizeof(u), "%s/u", dir);
    kill_part(ground_at(g, 0, u), g->part[0].driver);
}

static bool is_populated(const struct ground *g, const char *dir)
{
    for (size_t i = 0; i < g->n; i++) {
        int populated = g->part[i].driver->populated(ground_at(g, i, dir));
        if (populated > 0 || (populated < 0 && errno != ENOENT))
            return true;
    }
    return false;
}

/* The tracking part last, so that a daemon that is killed in between finds the rest. */
static int remove_parts(const struct ground *g, const char *dir)
{
    for (size_t i = g->n; i-- > 0;)
        if (at_remove_within(ground_at(g, i, dir), TURN_MS) < 0)
            return -1;
    return 0;
}

int job_end(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
            struct error *err)
{
    (void)job_mark(g, q->dir, MARK_ENDED, NULL);
    /* v2: its user could make cgroups in u from anywhere, and faster than they are removed */
    (void)at_write(ground_at(g, 0, q->dir), "cgroup.max.descendants", "0");
    if (q->kill == KILL_USERS)
        kill_users(g, q->dir);
    else if (q->kill != KILL_NOTHING)
        kill_part(ground_at(g, 0, q->dir), g->part[0].driver);
    if (q->kill == KILL_EACH)
        (void)kill_each(ground_at(g, 0, q->dir));
    a->populated = is_populated(g, q->dir);
    if (a->populated)
        return 0;
    for (size_t i = 0; i < g->n; i++)
        g->part[i].driver->usage(ground_at(g, i, q->dir), g->part[i].controllers, &a->usage);
    a->gone = remove_parts(g, q->dir) == 0;
    a->goes_on = !a->gone && errno == EAGAIN;
    return 0;
}
