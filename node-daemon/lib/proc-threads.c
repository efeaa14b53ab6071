/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/lib/proc-threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"

enum { STAT_MAX = 1024, PATH_SIZE = 300, LOOKS = 16, TABLE_MAX = 1 << 20 /* long paths */ };

/* Is it no zombie? proc(5): the state stands behind the name, which may have any letters, and ends
 * with the last ')'. The number of threads is 17 fields later; 0: the process has ended. */
static bool lives(int dir, const char *file, long *ret_threads)
{
    char stat[STAT_MAX], state = 'X';
    const char *at = file_read_at(dir, file, stat, sizeof(stat)) > 0 ? strrchr(stat, ')') : NULL;
    *ret_threads = 0;
    if (at)
        (void)sscanf(at, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
                     &state, ret_threads);
    return state != 'Z' && state != 'X';
}

bool proc_is_alive(int proc)
{
    long threads;
    return lives(proc, "stat", &threads) || threads > 1;
}

/* The thread may end meanwhile: NULL. */
static char *memberships_of_other(int proc)
{
    char path[PATH_SIZE];
    long threads;
    AUTO_DIR DIR *d = dir_take_fd(openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof(path), "%s/stat", e->d_name);
        if (e->d_name[0] == '.' || !lives(dirfd(d), path, &threads))
            continue;
        snprintf(path, sizeof(path), "%s/cgroup", e->d_name);
        return file_slurp_at(dirfd(d), path, TABLE_MAX, NULL);
    }
    return NULL;
}

char *proc_memberships(int proc)
{
    char *text = NULL;
    long threads;
    bool has_others = !lives(proc, "stat", &threads) && threads > 1;
    for (int i = 0; has_others && !text && i < LOOKS; i++)
        text = memberships_of_other(proc);
    return text ? text : file_slurp_at(proc, "cgroup", TABLE_MAX, NULL);
}
