/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/files/step-directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/files/path.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum {
    LISTING_MAX = 32 * 1024, /* one call: some eight hundred names, 0.2 ms at the most */
    STALE_AGE_S = 30,        /* between making a directory and locking it there is a moment */
};

static bool is_wanted(const char *name, size_t id, enum step_directory_of of)
{
    size_t prefix = strlen(STEP_DIRECTORY);
    if (strncmp(name, STEP_DIRECTORY, prefix) != 0)
        return 0;
    name += prefix;
    if (strspn(name, STEP_ID_LETTERS) != id)
        return 0;
    name += id;
    if (of == DIRECTORY_OF_STEP)
        return *name == 0;
    return name[0] == '.' && name[1] && strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* A lock on a file system of several machines may hold on the other ones only. */
static bool is_local(int dir)
{
    struct statfs fs;
    if (fstatfs(dir, &fs) < 0)
        return 0;
    switch ((unsigned long)fs.f_type) {
    case TMPFS_MAGIC:
    case EXT4_SUPER_MAGIC: /* and its ancestors */
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
        return 1;
    default:
        return 0;
    }
}

/* Locked, or -1: it is somebody's. Without a lock on one that was just made: its owner takes it. */
static int open_stale(int parent, const char *name)
{
    struct stat st;
    AUTO_CLOSE int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 07777) != 0700 ||
        time(NULL) - st.st_mtime < STALE_AGE_S || flock(dir, LOCK_EX | LOCK_NB) < 0)
        return -1;
    return take_fd(&dir);
}

bool step_directory_is_own(int dir, const char *name)
{
    struct stat st;
    AUTO_CLOSE int stale = open_stale(dir, name);
    return stale < 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && (st.st_mode & 07777) == 0700;
}

static void sweep_entry(void *arg, int parent, const char *place, const char *name)
{
    char path[512];
    struct error e;
    AUTO_CLOSE int dir = open_stale(parent, name);
    if (dir < 0 || snprintf(path, sizeof(path), "%s/%s", place, name) >= (int)sizeof(path))
        return;
    log_debug("remove '%s', which a step that was killed has left", path);
    if (path_remove_tree(path, &e) < 0)
        log_debug("%s", e.text);
}

void step_directories(const char *place, const char *id, enum step_directory_of of, bool whole,
                      void (*fn)(void *arg, int dir, const char *place, const char *name),
                      void *arg)
{
    _Alignas(struct dirent64) char listing[LISTING_MAX];
    AUTO_CLOSE int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || !is_local(dir))
        return;
    long n;
    do {
        n = syscall(SYS_getdents64, dir, listing, sizeof(listing));
        for (long at = 0; at < n;) {
            const struct dirent64 *e = (const void *)(listing + at);
            if (is_wanted(e->d_name, strlen(id), of))
                fn(arg, dir, place, e->d_name);
            at += e->d_reclen;
        }
    } while (whole && n > 0);
}

void step_directories_sweep(const char *place, const char *id, enum step_directory_of of)
{
    step_directories(place, id, of, false, sweep_entry, NULL);
}

void step_directory_lock(int fd)
{
    (void)flock(fd, LOCK_EX | LOCK_NB);
}
