/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/evidence-sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"

enum { GROUPS_MAX = 65536, CGROUPS_MAX = 65536 /* bytes */ };

static int read_groups(int socket, struct asker *a)
{
    socklen_t len = 0;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) < 0 && errno != ERANGE)
        return -1;
    if (len == 0)
        return 0;
    AUTO_FREE gid_t *groups = len <= GROUPS_MAX * sizeof(gid_t) ? malloc(len) : NULL;
    if (!groups || getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
        return -1;
    a->ngroups = len / sizeof(gid_t);
    a->groups = take_ptr(groups);
    return 0;
}

int asker_read(int socket, struct asker *ret, struct error *err)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return error_errno(err, errno, "ask the kernel who connected");
    struct asker a = {.pid = who.pid, .uid = who.uid};
    if (read_groups(socket, &a) < 0)
        return error_errno(err, errno, "ask the kernel for the groups of pid %d, which connected",
                           (int)who.pid);
    *ret = a;
    return 0;
}

void asker_free(struct asker *a)
{
    free(take_ptr(a->groups));
    a->ngroups = 0;
}

bool asker_has_cgroup(const struct asker *a, const char *name, const char *below)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)a->pid);
    AUTO_FREE char *text = file_slurp_at(AT_FDCWD, path, CGROUPS_MAX, NULL);
    const char *found = text ? strstr(text, name) : NULL;
    return !text || (found && strstr(found, below));
}

bool asker_has_group(const struct asker *a, gid_t group)
{
    for (size_t i = 0; i < a->ngroups; i++)
        if (a->groups[i] == group)
            return true;
    return false;
}
