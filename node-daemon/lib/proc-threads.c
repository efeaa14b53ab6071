/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/lib/proc-threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/fdio.h"

enum { STAT_MAX = 1024, PATH_SIZE = 300, LOOKS = 16, TABLE_MAX = 1 << 20 /* long paths */ };

/* proc(5): the state stands behind the name, which may have any letters, and ends with the last
 * ')'. The number of threads is 17 fields later. */
static bool read_state(int proc, const char *file, char *ret_state, long *ret_threads)
{
    char stat[STAT_MAX];
    const char *at = file_read_at(proc, file, stat, sizeof(stat)) > 0 ? strrchr(stat, ')') : NULL;
    return at &&
           sscanf(at, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
                  ret_state, ret_threads) == 2;
}

static bool lives(char state)
{
    return state != 'Z' && state != 'X';
}

bool proc_is_alive(int proc)
{
    char state;
    long threads;
    return read_state(proc, "stat", &state, &threads) && (lives(state) || threads > 1);
}

/* The thread may end meanwhile: NULL. */
static char *memberships_of_other(int proc)
{
    char path[PATH_SIZE], state;
    long threads;
    int fd = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        cleanup_close(&fd);
        return NULL;
    }
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof(path), "%s/stat", e->d_name);
        if (e->d_name[0] == '.' || !read_state(fd, path, &state, &threads) || !lives(state))
            continue;
        snprintf(path, sizeof(path), "%s/cgroup", e->d_name);
        return file_slurp_at(fd, path, TABLE_MAX, NULL);
    }
    return NULL;
}

char *proc_memberships(int proc)
{
    char state, *text = NULL;
    long threads;
    bool has_others = read_state(proc, "stat", &state, &threads) && !lives(state) && threads > 1;
    for (int i = 0; has_others && !text && i < LOOKS; i++)
        text = memberships_of_other(proc);
    return text ? text : file_slurp_at(proc, "cgroup", TABLE_MAX, NULL);
}
