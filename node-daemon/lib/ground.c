/* SPDX-License-Identifier: BSD-3-Clause */
/* ground.c - the ground as the processes of mprund have it, and who is in it */
#include "node-daemon/lib/ground.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "node-daemon/lib/proc-threads.h"

enum { NONCE = 8 };

void ground_of_start(const struct start *s, struct ground *ret)
{
    const struct plan_ground *p = &s->plan.ground;
    *ret = (struct ground){.n = p->nparts, .cgroup = p->cgroup, .v2_cgroup = p->v2_cgroup};
    for (size_t i = 0; i < p->nparts && i < GROUND_PARTS; i++)
        ret->part[i] = (struct ground_part){.driver = p->part[i].version == 2 ? &cgroup_driver_v2
                                                                              : &cgroup_driver_v1,
                                            .fd = s->ground[i],
                                            .path = p->part[i].path,
                                            .controllers = p->part[i].controllers};
}

/* v1 has two names of its own. */
static bool is_list_of(const struct ground_part *p, const char *list)
{
    return cgroup_controllers_in(list, p->controllers &
                                           ~(CGROUP_BIT(CGROUP_CPU) | CGROUP_BIT(CGROUP_IO))) ||
           ((p->controllers & CGROUP_BIT(CGROUP_CPU)) && cgroup_list_has(list, "cpuacct")) ||
           ((p->controllers & CGROUP_BIT(CGROUP_IO)) && cgroup_list_has(list, "blkio"));
}

/* A line "4:cpu,cpuacct:/PATH", or "0::/PATH" of v2: its path if it is of the part that tracks. */
static char *tracked_path(const struct ground_part *p, char *line)
{
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
    if (!path)
        return NULL;
    *path++ = 0;
    list++;
    if (p->driver->version == 2)
        return *list ? NULL : path;
    return is_list_of(p, list) ? path : NULL;
}

/* The part of a path behind the ground's own name; NULL: it is elsewhere. */
static const char *below(const struct ground *g, const char *path)
{
    const char *top = g->part[0].driver->version == 2 ? g->v2_cgroup : g->cgroup;
    size_t len = strlen(top);
    if (strncmp(path, top, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path + len + (path[len] == '/');
}

int ground_below(const struct ground *g, int proc, char *buf, size_t n)
{
    char *save = NULL;
    AUTO_FREE char *text = proc_memberships(proc);
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        const char *path = tracked_path(&g->part[0], line);
        const char *in = path ? below(g, path) : NULL;
        if (path)
            return in && (size_t)snprintf(buf, n, "%s", in) < n ? 0 : -1;
    }
    return -1;
}

/* It stands in the directory's group, which only root can set: who has subordinate uids can change
 * the owner of what is its own. */
int ground_owner(const struct ground *g, const char *dir, uid_t *ret)
{
    struct stat st;
    if (fstatat(g->part[0].fd, dir, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    *ret = (uid_t)st.st_gid;
    return 0;
}

bool ground_is_job(const char *dir)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = strnlen(dir, CGROUP_NAME_MAX);
    const char *nonce = n < CGROUP_NAME_MAX ? strrchr(dir, '-') : NULL;
    return nonce && dir[0] >= 'a' && dir[0] <= 'z' && strspn(dir, letters) == n &&
           strspn(nonce + 1, "0123456789abcdef") == NONCE && nonce[1 + NONCE] == 0;
}
