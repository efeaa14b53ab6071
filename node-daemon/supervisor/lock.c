/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c - one mprund on a host
 *
 * Only root can open the file: a user who could would keep every daemon from starting. fcntl()'s
 * lock ends with the supervisor, as its children lack it, and the kernel says whose it is. */
#include "node-daemon/supervisor/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "containment/mprund-protocol.h"

int lock_directory(const char *path, bool make, struct error *err)
{
    struct stat st;
    AUTO_FREE char *dir = strdup(path);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    if (!slash || slash == dir)
        return error_set(err, EINVAL, "listen at '%s': not a path with a directory", path);
    *slash = 0;
    if (make && mkdir(dir, 0755) == 0)
        (void)chmod(dir, 0755);
    if (lstat(dir, &st) < 0)
        return !make && errno == ENOENT ? 0 : error_errno(err, errno, "listen at '%s'", path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return error_set(err, EPERM,
                         "listen at '%s': its directory must belong to user %u and be writable to "
                         "nobody else",
                         path, (unsigned)geteuid());
    return 0;
}

/* To open the file once more, and close that, would drop the lock. */
static bool is_held(const char *name, int fd)
{
    struct stat there, held;
    return fd >= 0 && fstat(fd, &held) == 0 && lstat(name, &there) == 0 &&
           there.st_dev == held.st_dev && there.st_ino == held.st_ino;
}

int lock_take(const char *path, int *fd, struct error *err)
{
    struct flock f = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    AUTO_FREE char *name = NULL;
    if (lock_directory(path, true, err) < 0)
        return -1;
    if (asprintf(&name, "%s" GRANT_LOCK, path) < 0)
        return error_errno(err, ENOMEM, "listen at '%s'", path);
    if (is_held(name, *fd))
        return 0;
    AUTO_CLOSE int new = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (new >= 0 && fcntl(new, F_SETLK, &f) == 0) {
        cleanup_close(fd);
        *fd = take_fd(&new);
        return 0;
    }
    if (new < 0 || (errno != EAGAIN && errno != EACCES))
        return error_errno(err, errno, "lock '%s'", name);
    (void)fcntl(new, F_GETLK, &f);
    return error_set(err, EADDRINUSE, "listen at '%s': another mprund, pid %d, does so already",
                     path, (int)f.l_pid);
}
