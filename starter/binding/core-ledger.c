/* SPDX-License-Identifier: BSD-3-Clause */
/* core-ledger.c - bytes 0 to IDSET_MAX - 1 are hardware threads. All processes that have the file
 * open share a lock on the byte behind them; who can lock it alone may remove the file */
#include "starter/binding/core-ledger.h"
#include "starter/tunables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/own-name.h"

enum { PRESENT = IDSET_MAX };

/* Caller frees; NULL with err. */
static char *own_path(const char *path, struct error *err)
{
    char own[64];
    snprintf(own, sizeof(own), "/dev/shm/mprun.cores.%u", (unsigned)geteuid());
    return own_name(path ? path : own, S_IFREG, err);
}

static int lock(int fd, short type, off_t first, off_t n)
{
    struct flock f = {.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = n};
    return fcntl(fd, F_OFD_SETLK, &f);
}

/* Every user may make files in that directory. */
static int check_owner(const struct stat *s, const char *path, struct error *err)
{
    if (s->st_uid != geteuid())
        return error_set(err, EPERM, "'%s' belongs to user %u", path, (unsigned)s->st_uid);
    if (!S_ISREG(s->st_mode) || (s->st_mode & 077) || s->st_nlink > 1)
        return error_set(err, EPERM, "'%s' is not a file of this user alone", path);
    return 0;
}

static int cannot_open(const char *path, int why, struct error *err)
{
    struct stat s;
    if (lstat(path, &s) == 0 && check_owner(&s, path, err) < 0)
        return -1;
    return error_errno(err, why, "open '%s'", path);
}

/* Returns 1: the file is ours and still has that name; 0: it is being removed; -1 with err. */
static int is_good(int fd, const char *path, struct error *err)
{
    struct stat s;
    if (fstat(fd, &s) < 0)
        return error_errno(err, errno, "look at '%s'", path);
    if (check_owner(&s, path, err) < 0)
        return -1;
    if (lock(fd, F_RDLCK, PRESENT, 1) < 0)
        return errno == EAGAIN || errno == EACCES ? 0 : error_errno(err, errno, "lock '%s'", path);
    if (fstat(fd, &s) < 0)
        return error_errno(err, errno, "look at '%s'", path);
    return s.st_nlink == 1;
}

int core_ledger_open(const char *path, struct error *err)
{
    /* Tries again while a removal is under way. Waiting for the remover's lock could take for ever,
     * if that process was stopped. */
    static const struct timespec bit = {.tv_nsec = LEDGER_WAIT_NS};
    AUTO_FREE char *own = own_path(path, err);
    if (!own)
        return -1;
    path = own;
    for (int i = 0; i < LEDGER_TRIES; i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0)
            return cannot_open(path, errno, err);
        int good = is_good(fd, path, err);
        if (good > 0)
            return fd;
        close(fd);
        if (good < 0)
            return -1;
        nanosleep(&bit, NULL);
    }
    return error_set(err, EAGAIN, "open '%s': it is removed again and again", path);
}

/* Adds threads from first up to end. The kernel names any lock in that range, not the first one. */
static int add_busy(int fd, off_t first, off_t end, struct idset *ret)
{
    while (first < end) {
        struct flock f = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = end - first};
        if (fcntl(fd, F_OFD_GETLK, &f) < 0)
            return -1;
        if (f.l_type == F_UNLCK)
            return 0;
        off_t from = f.l_start > first ? f.l_start : first;
        off_t to = f.l_len && f.l_start + f.l_len < end ? f.l_start + f.l_len : end;
        if (idset_add_range(ret, (unsigned)from, (unsigned)to - 1) < 0 ||
            add_busy(fd, first, from, ret) < 0)
            return -1;
        first = to;
    }
    return 0;
}

int core_ledger_busy(int fd, struct idset *ret, struct error *err)
{
    return add_busy(fd, 0, IDSET_MAX, ret) < 0 ? error_errno(err, errno, "ask who has which core")
                                               : 0;
}

static void give_back_some(int fd, const struct idset *threads, int before)
{
    IDSET_FOREACH (t, threads)
        if (t < before)
            lock(fd, F_UNLCK, t, 1);
}

void core_ledger_give_back(int fd, const struct idset *threads)
{
    give_back_some(fd, threads, IDSET_MAX);
}

int core_ledger_take(int fd, const struct idset *threads, struct error *err)
{
    IDSET_FOREACH (t, threads) {
        if (lock(fd, F_WRLCK, t, 1) == 0)
            continue;
        int why = errno;
        give_back_some(fd, threads, t);
        if (why == EAGAIN || why == EACCES)
            return 0;
        return error_errno(err, why, "take hardware thread %d", t);
    }
    return 1;
}

/* When several steps leave at once, the last one finds that it has the file alone. */
void core_ledger_remove(int fd)
{
    char link[32], own[PATH_MAX];
    struct stat s, there;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = fd < 0 ? -1 : readlink(link, own, sizeof(own) - 1);
    if (n < 0)
        return;
    own[n] = 0;
    lock(fd, F_UNLCK, PRESENT, 1);
    if (lock(fd, F_WRLCK, PRESENT, 1) == 0 && fstat(fd, &s) == 0 && lstat(own, &there) == 0 &&
        s.st_ino == there.st_ino && s.st_dev == there.st_dev)
        unlink(own);
}

void core_ledger_leave(int fd)
{
    core_ledger_remove(fd);
    cleanup_close(&fd);
}

void core_ledger_sweep(const char *path)
{
    struct error ignored;
    AUTO_FREE char *own = own_path(path, &ignored);
    AUTO_CLOSE int fd = own ? open(own, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd >= 0 && is_good(fd, own, &ignored) > 0)
        core_ledger_remove(fd);
}
