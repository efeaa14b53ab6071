/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c - a job's cgroups: made, limited, given to their user */
#include "node-daemon/mover/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-daemon/lib/marks.h"

enum { USER_DEPTH = 32, NAME_SIZE = CGROUP_NAME_MAX + MOVER_PART_MAX };

/* A cgroup below the job's: "", "/task", ... buf holds its name for as long as it is used. */
static struct cgroup_at at_of(const struct ground *g, size_t part, const char *dir,
                              const char *below, char buf[NAME_SIZE])
{
    snprintf(buf, NAME_SIZE, "%s%s", dir, below);
    return ground_at(g, part, buf);
}

static bool is_v2(const struct ground *g, size_t part)
{
    return g->part[part].driver->version == 2;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* The user's part may have so many cgroups below it: they cost the kernel memory. */
static void bound_descendants(struct cgroup_at u, uint32_t most)
{
    (void)at_write_u64(u, "cgroup.max.descendants", most);
    (void)at_write_u64(u, "cgroup.max.depth", USER_DEPTH);
}

static int make_below(const struct ground *g, size_t part, const struct mover_request *q)
{
    char top[NAME_SIZE], task[NAME_SIZE], u[NAME_SIZE], home[NAME_SIZE];
    const struct ground_part *p = &g->part[part];
    struct cgroup_at at_top = at_of(g, part, q->dir, "", top);
    struct cgroup_at at_task = at_of(g, part, q->dir, "/task", task);
    struct cgroup_at at_u = at_of(g, part, q->dir, "/u", u);
    struct cgroup_at at_home = at_of(g, part, q->dir, "/u/home", home);
    unsigned below = p->driver->enable(at_top, p->controllers);
    if (at_make(at_task, 0755) < 0 || at_make(at_u, 0755) < 0)
        return -1;
    (void)p->driver->enable(at_u, below);
    bound_descendants(at_u, q->descendants);
    if (at_make(at_home, 0755) < 0 || delegate_to(at_home, q->uid) < 0)
        return -1;
    return delegate_to(at_u, q->uid);
}

static int note_owner(struct cgroup_at d, uid_t uid)
{
    return fchownat(d.fd, d.name, (uid_t)-1, (gid_t)uid, AT_SYMLINK_NOFOLLOW);
}

/* Before the parent's threads would be copied. That there are none is for the asker to judge. */
static void hold_cpus(const struct ground_part *p, struct cgroup_at d,
                      const struct mover_request *q, struct mover_answer *a)
{
    if (!(p->controllers & CGROUP_BIT(CGROUP_CPUSET)) || !q->text[0])
        return;
    if (at_write(d, "cpuset.cpus", q->text) < 0)
        a->cpus_code = (uint32_t)errno;
    else if (q->exclusive) /* v1, where the ground is */
        (void)at_write(d, "cpuset.cpu_exclusive", "1");
}

static int make_part(const struct ground *g, size_t part, const struct mover_request *q,
                     struct mover_answer *a)
{
    char top[NAME_SIZE];
    const struct ground_part *p = &g->part[part];
    struct cgroup_at d = at_of(g, part, q->dir, "", top);
    if (at_make(d, mark_mode(MARK_OTHER)) < 0)
        return -1;
    hold_cpus(p, d, q, a);
    if (p->driver->prepare(ground_at(g, part, "."), d, p->controllers) < 0)
        return -1;
    p->driver->limit(d, p->controllers, &a->limits);
    return is_v2(g, part) && make_below(g, part, q) < 0 ? -1 : note_owner(d, q->uid);
}

int job_make(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
             struct error *err)
{
    a->limits = q->limits;
    for (size_t part = 0; part < g->n; part++)
        if (make_part(g, part, q, a) < 0) {
            int saved = errno;
            for (size_t made = part + 1; made-- > 0;)
                (void)at_remove(ground_at(g, made, q->dir));
            return error_errno(err, saved, "make cgroup '%s/%s'", g->part[part].path, q->dir);
        }
    return 0;
}

/* The tracking part comes last: what is marked there is marked everywhere. */
int job_mark(const struct ground *g, const char *dir, enum mover_mark mark, struct error *err)
{
    for (size_t part = g->n; part-- > 0;)
        if (fchmodat(g->part[part].fd, dir, mark_mode(mark), 0) < 0)
            return error_errno(err, errno, "mark cgroup '%s/%s'", g->part[part].path, dir);
    return 0;
}

/* ---- changing -------------------------------------------------------------------------------- */

int job_limit(const struct ground *g, const struct mover_request *q, struct mover_answer *a,
              struct error *err)
{
    a->limits = q->limits;
    for (size_t part = 0; part < g->n; part++) {
        const struct ground_part *p = &g->part[part];
        p->driver->lift(ground_at(g, part, q->dir), p->controllers, &a->limits);
        p->driver->limit(ground_at(g, part, q->dir), p->controllers, &a->limits);
    }
    return 0;
}

int job_set_cpus(const struct ground *g, const struct mover_request *q, struct error *err)
{
    const char *file = q->head.what == MOVER_MEMS ? "cpuset.mems" : "cpuset.cpus";
    for (size_t part = 0; part < g->n; part++)
        if ((g->part[part].controllers & CGROUP_BIT(CGROUP_CPUSET)) &&
            at_write(ground_at(g, part, q->dir), file, q->text) < 0)
            return error_errno(err, errno, "write '%.200s' to its %s", q->text, file);
    return 0;
}

int job_hold_devices(const struct ground *g, const struct mover_request *q, struct error *err)
{
    bool is_held = false;
    char name[NAME_SIZE];
    if (q->text[0] &&
        (strncmp(q->text, "/u/", 3) || strstr(q->text, "..") || strlen(q->text) >= MOVER_PART_MAX))
        return error_set(err, EINVAL, "hold a cgroup that is not in the user's part of '%s'",
                         q->dir);
    errno = ENOTSUP;
    for (size_t part = 0; part < g->n; part++)
        if (is_v2(g, part) ||
            (!q->text[0] && (g->part[part].controllers & CGROUP_BIT(CGROUP_DEVICES))))
            is_held |= at_hold_devices(at_of(g, part, q->dir, q->text, name),
                                       g->part[part].driver->version, q->device, q->ndevices) == 0;
    return is_held ? 0 : error_errno(err, errno, "hold cgroup '%s' to its devices", q->dir);
}

/* ---- whose it is ----------------------------------------------------------------------------- */

int job_own(const struct ground *g, const char *dir, uid_t uid, struct error *err)
{
    char u[NAME_SIZE], home[NAME_SIZE];
    uid_t owner;
    if (uid == 0 || ground_owner(g, dir, &owner) < 0 || owner != 0)
        return error_set(err, EPERM, "give cgroup '%s' to user %u: it is another's already", dir,
                         (unsigned)uid);
    for (size_t part = 0; part < g->n; part++) {
        if ((is_v2(g, part) && (delegate_to(at_of(g, part, dir, "/u/home", home), uid) < 0 ||
                                delegate_to(at_of(g, part, dir, "/u", u), uid) < 0)) ||
            note_owner(ground_at(g, part, dir), uid) < 0)
            return error_errno(err, errno, "give cgroup '%s/%s' to user %u", g->part[part].path,
                               dir, (unsigned)uid);
    }
    return 0;
}
