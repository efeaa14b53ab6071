/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/lib/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A user's program may be on a file system whose server, the user's own perhaps, never answers:
 * which file it is the kernel knows, and nobody is asked. (Before Linux 4.11 there is only stat.)
 */
static int take_file(int dir, const char *name, struct program *p)
{
    struct statx x;
    struct stat st;
    int rc = statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &x);
    if (rc == 0) {
        p->dev = makedev(x.stx_dev_major, x.stx_dev_minor);
        p->ino = x.stx_ino;
    } else if (errno == ENOSYS && (rc = fstatat(dir, name, &st, 0)) == 0) {
        p->dev = st.st_dev;
        p->ino = st.st_ino;
    }
    return rc;
}

void program_look(struct program *p)
{
    p->ino = 0;
    (void)take_file(AT_FDCWD, p->path, p);
}

int program_of(pid_t pid, struct program *ret)
{
    char path[32];
    struct program its = {.path = NULL};
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (take_file(AT_FDCWD, path, &its) < 0)
        return -1;
    *ret = its;
    return 0;
}

int program_is(const struct program *a, const struct program *b)
{
    return a->ino != 0 && a->ino == b->ino && a->dev == b->dev;
}

int program_runs_in(int dir, const struct program *program)
{
    struct program its = {.path = NULL};
    return take_file(dir, "exe", &its) == 0 && program_is(&its, program);
}

/* The same, or the file of that path that was there when it began, and was replaced: the path is a
 * text, but of root's processes only. */
int program_ran_in(int dir, const struct program *program)
{
    static const char gone[] = " (deleted)";
    char path[PATH_MAX];
    if (program_runs_in(dir, program))
        return 1;
    ssize_t n = readlinkat(dir, "exe", path, sizeof(path) - 1);
    size_t len = strlen(program->path);
    path[n < 0 ? 0 : n] = 0;
    return !strncmp(path, program->path, len) && !strcmp(path + len, gone);
}
