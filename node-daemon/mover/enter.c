/* SPDX-License-Identifier: BSD-3-Clause */
/* enter.c - putting a process into its job's cgroup */
#include "node-daemon/mover/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "node-daemon/lib/proc-threads.h"

enum { NAME_SIZE = CGROUP_NAME_MAX + 16 };

/* A process that cannot be identified goes here, below the ground's own limits, beside all jobs. */
static const char lost[] = "lost";

/* ---- where it is ----------------------------------------------------------------------------- */

int enter_where(const struct ground *g, const struct identity *who, struct mover_answer *a,
                struct error *err)
{
    char below[CGROUP_PATH_MAX] = "";
    int rc = ground_below(g, who->proc, below, sizeof(below));
    if (!proc_is_alive(who->proc))
        return error_set(err, ESRCH, "pid %d has ended", (int)who->pid);
    size_t len = strcspn(below, "/");
    if (rc < 0 || len >= sizeof(a->dir))
        return 0;
    memcpy(a->dir, below, len);
    if (!ground_is_job(a->dir))
        a->dir[0] = 0;
    else
        snprintf(a->part, sizeof(a->part), "%s", below + len + (below[len] == '/'));
    return 0;
}

/* ---- who may go where ------------------------------------------------------------------------ */

static int check_may_enter(const struct ground *g, const struct identity *who, bool is_connection,
                           const char *dir, enum mover_part part, struct error *err)
{
    struct mover_answer is = {.gone = 0};
    uid_t owner;
    if (ground_owner(g, dir, &owner) < 0)
        return error_errno(err, errno, "find cgroup '%s'", dir);
    if (enter_where(g, who, &is, err) < 0)
        return -1;
    if (is.dir[0] && strcmp(is.dir, dir) != 0)
        return error_set(err, EPERM, "pid %d is in another job's cgroup, '%s'", (int)who->pid,
                         is.dir);
    bool is_users = owner != 0 && (who->uid == owner || who->real_uid == owner);
    bool is_roots = who->real_uid == 0;
    if (is_connection ? (part == PART_HOME ? is_users : is_roots)
                      : (part == PART_TASK && (is_users || is_roots)))
        return 0;
    return error_set(err, EPERM, "pid %d of user %u does not belong into cgroup '%s'",
                     (int)who->pid, (unsigned)who->uid, dir);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static bool is_in(const struct ground *g, const char *dir, pid_t pid)
{
    char path[32];
    struct mover_answer is = {.gone = 0};
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    AUTO_CLOSE int proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct identity who = {.pid = pid, .proc = proc};
    return proc >= 0 && enter_where(g, &who, &is, NULL) == 0 && !strcmp(is.dir, dir);
}

/* Another process has got the number, and was moved in its place: it goes where it harms no job and
 * is held by the ground's limits, and root can see it. */
static void put_aside(const struct ground *g, size_t part, struct cgroup_at from, pid_t pid)
{
    struct cgroup_at aside = ground_at(g, part, lost);
    const struct ground_part *p = &g->part[part];
    int rc = mkdirat(p->fd, lost, 0755) < 0 && errno != EEXIST
                 ? -1
                 : p->driver->prepare(ground_at(g, part, "."), aside, p->controllers);
    if (rc == 0)
        rc = at_write_u64(aside, "cgroup.procs", (uint64_t)pid);
    log_error(
        "pid %d ended while it was moved into '%s/%s', and another process has its number: %s",
        (int)pid, p->path, from.name,
        rc == 0 ? "that is in 'lost' beside the jobs now" : strerror(errno));
}

/* The number was its own when it was written if the process lives afterwards. */
static int check_moved(const struct ground *g, size_t part, struct cgroup_at d, const char *dir,
                       const struct identity *who, struct error *err)
{
    if (proc_is_alive(who->proc))
        return 0;
    if (is_in(g, dir, who->pid))
        put_aside(g, part, d, who->pid);
    return error_set(err, ESRCH, "pid %d has ended", (int)who->pid);
}

int enter_job(const struct ground *g, const struct identity *who, bool is_connection,
              const char *dir, enum mover_part part, struct error *err)
{
    char name[NAME_SIZE];
    if (check_may_enter(g, who, is_connection, dir, part, err) < 0)
        return -1;
    /* the tracking part last: who is seen there is everywhere */
    for (size_t i = g->n; i-- > 0;) {
        bool is_v1 = g->part[i].driver->version == 1;
        snprintf(name, sizeof(name), "%s%s", dir,
                 is_v1               ? ""
                 : part == PART_TASK ? "/task"
                                     : "/u/home");
        struct cgroup_at d = ground_at(g, i, name);
        if (at_write_u64(d, "cgroup.procs", (uint64_t)who->pid) < 0)
            return error_errno(err, errno, "move pid %d into cgroup '%s/%s'", (int)who->pid,
                               g->part[i].path, name);
        if (check_moved(g, i, d, dir, who, err) < 0)
            return -1;
    }
    return 0;
}
