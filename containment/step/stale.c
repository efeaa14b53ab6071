/* SPDX-License-Identifier: BSD-3-Clause */
/* stale.c - cgroups of steps whose starter is gone without a trace
 *
 * When keeper and worker are killed at once, no process is left to remove what they made, and the
 * next step at the same place does it. A step's owner holds a lock on its directory, which the
 * kernel releases however the owner ends; so a directory without a lock has no owner. It must also
 * have been there for a while, because a moment lies between making a directory and locking it. */
#include "containment/step/stale.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "containment/policy.h"
#include "containment/step/hierarchy.h"
#include "containment/step/sweep.h"

void stale_lock(int dir)
{
    (void)flock(dir,
                LOCK_EX | LOCK_NB); /* without the lock, the next step sweeps it after a while */
}

static int has_no_owner(int dir, int min_age)
{
    struct stat st;
    if (fstat(dir, &st) < 0 || st.st_uid != geteuid() || time(NULL) - st.st_ctime < min_age)
        return 0;
    return flock(dir, LOCK_EX | LOCK_NB) == 0;
}

static void sweep_entry(int parent_fd, const char *parent, const char *name, int min_age)
{
    char path[CGROUP_PATH_MAX];
    const char *const paths[] = {path};
    AUTO_CLOSE int dir = at_open((struct cgroup_at){parent_fd, name});
    if (dir < 0 || !has_no_owner(dir, min_age))
        return;
    if (snprintf(path, sizeof(path), "%s/%s", parent, name) < (int)sizeof(path))
        (void)cgroup_sweep(paths, 1, POLICY_STALE_WAIT_MS,
                           NULL); /* the next step tries again what stays */
}

void stale_sweep(const char *parent, int min_age)
{
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    if (!dir) {
        cleanup_close(&fd);
        return;
    }
    while ((e = readdir(dir)))
        if (!strncmp(e->d_name, CGROUP_STEP_PREFIX, strlen(CGROUP_STEP_PREFIX)))
            sweep_entry(fd, parent, e->d_name, min_age);
}
