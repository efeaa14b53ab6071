/* SPDX-License-Identifier: BSD-3-Clause */
#include "containment/step/hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "containment/job-cgroup/parents.h"
#include "containment/tunables.h"
#include "containment/step/orphans.h"

void hierarchy_init(struct hierarchy *h, const struct cgroup_driver *driver, const char *parent,
                    unsigned available, const char *step_name)
{
    *h = (struct hierarchy){.driver = driver,
                            .available = available,
                            .parent_fd = -1,
                            .top_fd = -1,
                            .ranks_fd = -1,
                            .ranks_procs_fd = -1,
                            .parent = must(strdup(parent))};
    must_do(asprintf(&h->top, "%s/%s", strcmp(parent, "/") ? parent : "", step_name));
    must_do(asprintf(&h->ranks, "%s/ranks", h->top));
}

static void close_all(struct hierarchy *h)
{
    int *fds[] = {&h->ranks_procs_fd, &h->ranks_fd, &h->top_fd, &h->parent_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        cleanup_close(fds[i]);
}

void hierarchy_free(struct hierarchy *h)
{
    close_all(h);
    free(h->parent);
    free(h->top);
    free(h->ranks);
    free(h->home);
}

static const char *step_name(const struct hierarchy *h)
{
    return strrchr(h->top, '/') + 1;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int make_directory(const struct hierarchy *h, struct cgroup_at parent, struct cgroup_at d,
                          const char *path, int *ret_fd, struct error *err)
{
    if (at_make(d, 0755) < 0)
        return error_errno(err, errno, "make cgroup '%s'", path);
    if (h->driver->prepare(parent, d, h->available) == 0 && (*ret_fd = at_open(d)) >= 0)
        return 0;
    int saved = errno;
    (void)unlinkat(d.fd, d.name, AT_REMOVEDIR);
    return error_errno(err, saved, "set up cgroup '%s'", path);
}

unsigned hierarchy_add_controllers(struct hierarchy *h, unsigned controllers)
{
    struct cgroup_at parent = {h->parent_fd, "."};
    char had[512] = "";
    (void)at_read(parent, "cgroup.subtree_control", had, sizeof(had));
    unsigned given = h->driver->enable(parent, controllers);
    h->turned_on |= given & ~cgroup_controllers_in(had, given);
    h->controllers |= given;
    return h->driver->enable(hierarchy_top(h), given);
}

static int make_all(struct hierarchy *h, const pid_t *movers, size_t nmovers, bool leaves,
                    struct error *err)
{
    struct cgroup_at parent = {h->parent_fd, "."}, top = {h->parent_fd, step_name(h)};
    if (make_directory(h, parent, top, h->top, &h->top_fd, err) < 0)
        return -1;
    (void)flock(h->top_fd,
                LOCK_EX | LOCK_NB); /* without it, the next step sweeps it after a while */
    for (size_t i = 0; i < nmovers; i++)
        if (hierarchy_adopt(h, movers[i], err) < 0 && errno != ESRCH)
            return -1;
    struct cgroup_at in_top = hierarchy_top(h), ranks = {h->top_fd, "ranks"};
    unsigned below = hierarchy_add_controllers(h, h->available);
    if (make_directory(h, in_top, ranks, h->ranks, &h->ranks_fd, err) < 0)
        return -1;
    h->for_ranks = leaves ? h->driver->enable(hierarchy_ranks(h), below) : 0;
    return 0;
}

int hierarchy_make(struct hierarchy *h, const pid_t *movers, size_t nmovers, bool leaves,
                   struct error *err)
{
    h->parent_fd = open(h->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (h->parent_fd < 0)
        return error_errno(err, errno, "open cgroup '%s'", h->parent);
    orphans_sweep(h->parent, POLICY_STALE_AGE_S);
    if (make_all(h, movers, nmovers, leaves, err) == 0)
        return 0;
    int saved = errno;
    if (saved == EEXIST && h->top_fd < 0)
        close_all(h); /* the directory is another step's */
    else
        (void)hierarchy_remove(h, NULL);
    close_all(h);
    errno = saved;
    return -1;
}

/* ---- own processes --------------------------------------------------------------------------- */

/* The directory of the process's cgroup in this hierarchy; NULL with err. */
static char *directory_of(const struct hierarchy *h, pid_t pid, struct error *err)
{
    unsigned c = 0;
    while (c + 1 < CGROUP_CONTROLLER_COUNT && !(h->available & CGROUP_BIT(c)))
        c++;
    int version = h->driver->version;
    return cgroup_of_process(pid, &version, c, NULL, err);
}

static bool is_below(const char *dir, const char *top)
{
    size_t len = strlen(top);
    return !strncmp(dir, top, len) && (dir[len] == '/' || dir[len] == 0);
}

int hierarchy_adopt(struct hierarchy *h, pid_t pid, struct error *err)
{
    AUTO_FREE char *from = directory_of(h, pid, err);
    if (!from)
        return -1;
    if (is_below(from, h->top))
        return 0;
    struct cgroup_at starter = {h->top_fd, "starter"};
    if (at_make(starter, 0755) < 0 && errno != EEXIST)
        return error_errno(err, errno, "make cgroup '%s/starter'", h->top);
    if (h->driver->prepare(hierarchy_top(h), starter, h->available) < 0 ||
        at_write_u64(starter, "cgroup.procs", (uint64_t)pid) < 0)
        return error_errno(err, errno, "move pid %d into cgroup '%s/starter'", (int)pid, h->top);
    if (!h->home)
        h->home = take_ptr(from);
    return 0;
}

int hierarchy_send_home(const struct hierarchy *h, pid_t pid, struct error *err)
{
    if (!h->home)
        return 0;
    AUTO_CLOSE int home = open(h->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (home < 0 || at_write_u64((struct cgroup_at){home, "."}, "cgroup.procs", (uint64_t)pid) < 0)
        return error_errno(err, errno, "move pid %d into cgroup '%s'", (int)pid, h->home);
    return 0;
}

/* Moves mprun's own processes, which outlive the tree for a moment, back to where they came from.
 * If that is the parent, it can take them only when its children have no controllers. */
static void send_home(struct hierarchy *h)
{
    struct cgroup_at starter = {h->top_fd, "starter"};
    if (!h->home || at_has_processes(starter) <= 0)
        return;
    if (h->driver->disable && h->turned_on && !strcmp(h->home, h->parent)) {
        h->driver->disable(hierarchy_top(h), h->controllers);
        h->driver->disable((struct cgroup_at){h->parent_fd, "."}, h->turned_on);
    }
    AUTO_CLOSE int home = open(h->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (home >= 0)
        at_move_all(starter, (struct cgroup_at){home, "."});
}

/* ---- removing -------------------------------------------------------------------------------- */

int hierarchy_remove(struct hierarchy *h, struct error *err)
{
    if (!hierarchy_made(h))
        return 0;
    struct cgroup_at ranks = {h->top_fd, "ranks"}, top = {h->parent_fd, step_name(h)};
    if (at_remove_or_tell(ranks, h->ranks, err) < 0)
        return -1;
    send_home(h);
    if (at_remove_or_tell(top, h->top, err) < 0)
        return -1;
    close_all(h);
    return 0;
}
