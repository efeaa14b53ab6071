/* SPDX-License-Identifier: BSD-3-Clause */
/* own-limits.c - reading the limits of cgroups from a process's up to the root */
#include "node-daemon/reader/questions.h"

#include <fcntl.h>
#include <string.h>

#include "common/cleanup.h"
#include "containment/cgroup/dir.h"
#include "containment/cgroup/mounts.h"

static void take_smaller(struct limit *l, uint64_t value)
{
    if (value < CGROUP_V1_UNLIMITED && (!l->set || value < l->value))
        *l = (struct limit){.set = 1, .value = value};
}

/* path: a directory and all above it, as far as the mount point, which is root_len long. */
static void walk_up(char *path, size_t root_len, const char *file, struct limit *l)
{
    uint64_t value;
    for (size_t len = strlen(path); len > root_len; len = strlen(path)) {
        struct cgroup_at d = {AT_FDCWD, path};
        if (at_read_u64(d, file, &value) == 0)
            take_smaller(l, value);
        *strrchr(path, '/') = 0;
    }
}

struct limit own_memory_limit(pid_t pid)
{
    AUTO(cgroup_mounts_free) struct cgroup_mounts mounts = {0};
    AUTO(cgroup_membership_free) struct cgroup_membership m = {0};
    struct limit l = {0};
    size_t root_len;
    if (cgroup_mounts_read(&mounts, NULL) == 0 && cgroup_membership_read(pid, &m, NULL) == 0) {
        AUTO_FREE char *v2 = m.v2 ? cgroup_directory(&mounts, 2, 0, m.v2, &root_len, NULL) : NULL;
        if (v2)
            walk_up(v2, root_len, "memory.max", &l);
        const char *in = m.v1[CGROUP_MEMORY];
        AUTO_FREE char *v1 =
            in ? cgroup_directory(&mounts, 1, CGROUP_MEMORY, in, &root_len, NULL) : NULL;
        if (v1)
            walk_up(v1, root_len, "memory.limit_in_bytes", &l);
    }
    return l;
}
