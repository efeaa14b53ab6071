/* SPDX-License-Identifier: BSD-3-Clause */
/* make-ground.c - the cgroup below which all jobs have theirs
 *
 * Its name is configured and not taken from where the daemon happens to sit, because a daemon that
 * is started again, from another place, has to find its jobs. */
#include "node-daemon/command/make-ground.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "containment/cgroup/mounts.h"

/* ---- making ---------------------------------------------------------------------------------- */

/* Go down from the hierarchy's mount point, make what is missing, and let every directory on the
 * way give the controllers to what is below: those that it has and may give. LOOK: the last one on
 * the way that is there, if another one could be made in it. */
static int descend(const struct cgroup_driver *driver, char *path, size_t root_len,
                   unsigned controllers, enum ground_use use, struct error *err)
{
    char *rest = path + root_len, *save = NULL;
    AUTO_FREE char *point = must(strndup(path, root_len ? root_len : 1));
    AUTO_CLOSE int fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FREE char *copy = must(strdup(rest));
    char *part = fd >= 0 ? strtok_r(copy, "/", &save) : NULL;
    if (!part)
        return error_errno(err, errno, "open the cgroup above '%s'", path);
    bool is_ours = use == GROUND_MAKE;
    for (; part; part = strtok_r(NULL, "/", &save)) {
        struct cgroup_at up = {fd, "."}, d = {fd, part};
        if (use == GROUND_LOOK && faccessat(fd, part, F_OK, 0) < 0) {
            if (errno == ENOENT && faccessat(fd, ".", W_OK, AT_EACCESS) == 0)
                break;
            return error_errno(err, errno, "make cgroup '%s'", path);
        }
        if (is_ours)
            (void)driver->enable(up, controllers);
        int made = use != GROUND_LOOK && mkdirat(fd, part, 0755) == 0;
        is_ours |= made;
        if ((use != GROUND_LOOK && !made && errno != EEXIST) ||
            (made && driver->prepare(up, d, controllers) < 0))
            return error_errno(err, errno, "make cgroup '%s'", path);
        int next = at_open(d);
        if (next < 0)
            return error_errno(err, errno, "open cgroup '%s'", path);
        close(fd);
        fd = next;
    }
    return take_fd(&fd);
}

/* The controllers that the directory can give to its children, of those that are wanted. */
static unsigned can_give(struct ground_part *p, unsigned controllers)
{
    struct cgroup_at d = {p->fd, "."};
    return p->driver->enable(d, controllers) & controllers;
}

/* The same before anything is made. In v2 a cgroup that has processes gives no more than it does
 * already, unless it is the root, which has no type. */
static unsigned could_give(struct ground_part *p, unsigned controllers)
{
    char text[512];
    struct cgroup_at d = {p->fd, "."};
    if (p->driver->version == 1)
        return controllers;
    int is_taken = at_read(d, "cgroup.procs", text, sizeof(text)) > 0 &&
                   at_read(d, "cgroup.type", text, sizeof(text)) > 0;
    if (at_read(d, is_taken ? "cgroup.subtree_control" : "cgroup.controllers", text, sizeof(text)) <
        0)
        return 0;
    return cgroup_controllers_in(text, controllers);
}

static int add_part(struct ground *g, const struct cgroup_driver *driver, char *path,
                    size_t root_len, unsigned controllers, enum ground_use use, struct error *err)
{
    struct ground_part *p = &g->part[g->n];
    p->driver = driver;
    p->path = path;
    p->fd = descend(driver, path, root_len, controllers, use, err);
    if (p->fd < 0) {
        free(path);
        return -1;
    }
    p->controllers = use == GROUND_LOOK ? could_give(p, controllers) : can_give(p, controllers);
    g->n++;
    return 0;
}

static int add_v2(struct ground *g, const struct cgroup_mounts *mounts, unsigned controllers,
                  enum ground_use use, struct error *err)
{
    size_t root_len;
    char *path = cgroup_directory(mounts, 2, 0, g->v2_cgroup, &root_len, NULL);
    if (!path)
        return 0; /* not mounted: v1 does it all */
    return add_part(g, &cgroup_driver_v2, path, root_len, controllers, use, err);
}

/* Several controllers may be mounted together, and then have one directory. */
static int is_known(const struct ground *g, const char *path)
{
    for (size_t i = 0; i < g->n; i++)
        if (!strcmp(g->part[i].path, path))
            return 1;
    return 0;
}

static unsigned mounted_with(const struct cgroup_mounts *mounts, const char *cgroup,
                             const char *path, unsigned wanted)
{
    unsigned set = 0;
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
        AUTO_FREE char *other = cgroup_directory(mounts, 1, c, cgroup, NULL, NULL);
        if (other && !strcmp(other, path))
            set |= CGROUP_BIT(c) & wanted;
    }
    return set;
}

/* Where v2 tracks, what v1's freezer and cpuacct are for is done there. */
static unsigned wanted_of_v1(const struct ground *g, unsigned controllers)
{
    if (g->n > 0)
        controllers &=
            ~(CGROUP_BIT(CGROUP_FREEZER) | CGROUP_BIT(CGROUP_CPU) | g->part[0].controllers);
    return controllers;
}

static int add_v1(struct ground *g, const struct cgroup_mounts *mounts, unsigned controllers,
                  enum ground_use use, struct error *err)
{
    /* the first one that is there tracks where there is no v2 */
    static const enum cgroup_controller order[] = {CGROUP_FREEZER, CGROUP_CPU,    CGROUP_PIDS,
                                                   CGROUP_MEMORY,  CGROUP_CPUSET, CGROUP_IO,
                                                   CGROUP_DEVICES, CGROUP_NET_CLS};
    unsigned wanted = wanted_of_v1(g, controllers);
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        size_t root_len;
        char *path = (wanted & CGROUP_BIT(order[i]))
                         ? cgroup_directory(mounts, 1, order[i], g->cgroup, &root_len, NULL)
                         : NULL;
        if (!path || is_known(g, path)) {
            free(path);
            continue;
        }
        if (add_part(g, &cgroup_driver_v1, path, root_len,
                     mounted_with(mounts, g->cgroup, path, wanted), use, err) < 0)
            return -1;
    }
    return 0;
}

int ground_open(struct ground *g, const char *cgroup, const char *v2_cgroup, int version,
                unsigned controllers, enum ground_use use, struct error *err)
{
    AUTO(cgroup_mounts_free) struct cgroup_mounts mounts = {0};
    *g = (struct ground){.cgroup = must(strdup(cgroup)), .v2_cgroup = must(strdup(v2_cgroup))};
    int rc = cgroup_mounts_read(&mounts, err);
    if (rc == 0 && version != 1)
        rc = add_v2(g, &mounts, controllers, use, err);
    if (rc == 0 && version != 2)
        rc = add_v1(g, &mounts, controllers, use, err);
    if (rc == 0 && g->n == 0)
        rc = error_set(err, ENOENT, "make the jobs' cgroup '%s': %s mounted where it could be",
                       cgroup,
                       version == 2   ? "cgroup v2 is not"
                       : version == 1 ? "none of the subsystems (cgroup v1) is"
                                      : "neither cgroup v2 nor any of the subsystems is");
    int saved = errno;
    if (rc < 0)
        ground_close(g);
    errno = saved;
    return rc;
}

void ground_close(struct ground *g)
{
    for (size_t i = 0; i < g->n; i++) {
        cleanup_close(&g->part[i].fd);
        free((char *)g->part[i].path);
    }
    free((char *)g->cgroup);
    free((char *)g->v2_cgroup);
    memset(g, 0, sizeof(*g));
}

/* ---- what jobs have there -------------------------------------------------------------------- */

unsigned ground_lacks(const struct ground *g, unsigned controllers)
{
    for (size_t i = 0; i < g->n; i++)
        controllers &= ~g->part[i].controllers;
    if (g->n > 0 && g->part[0].driver->version == 2) /* programs hold devices there */
        controllers &= ~CGROUP_BIT(CGROUP_DEVICES);
    return wanted_of_v1(g, controllers); /* the rest v2 does by itself */
}

const char *ground_words(unsigned controllers, char text[GROUND_TEXT_MAX])
{
    size_t len = 0;
    snprintf(text, GROUND_TEXT_MAX, "no subsystem");
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        if (controllers & CGROUP_BIT(c))
            len += (size_t)snprintf(text + len, GROUND_TEXT_MAX - len, "%s%s", len ? ", " : "",
                                    cgroup_controller_text(c));
    return text;
}
