/* SPDX-License-Identifier: BSD-3-Clause */
/* delegate.c - handing a cgroup v2 directory over to a user */
#include "node-daemon/mover/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"

enum { LIST_MAX = 4096 };

/* A file of this kernel's list need not be there: its controller may be off. */
static int give_file(int dir, const char *file, uid_t uid)
{
    if (strchr(file, '/'))
        return 0;
    return fchownat(dir, file, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT ? -1 : 0;
}

int delegate_to(struct cgroup_at d, uid_t uid)
{
    char list[LIST_MAX], *save = NULL;
    AUTO_CLOSE int dir = at_open(d);
    if (dir < 0 || file_read_at(AT_FDCWD, "/sys/kernel/cgroup/delegate", list, sizeof(list)) <= 0)
        return -1;
    for (char *f = strtok_r(list, "\n", &save); f; f = strtok_r(NULL, "\n", &save))
        if (give_file(dir, f, uid) < 0)
            return -1;
    return fchown(dir, uid, (gid_t)-1);
}
