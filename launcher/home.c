/* SPDX-License-Identifier: BSD-3-Clause */
/* home.c - the directory of the step's sockets: made, locked, removed, and those of steps whose
 * mprun was killed before a starter of this machine knew of it
 *
 * mprun holds a lock on its directory, which the kernel gives back however mprun ends; so one that
 * is not locked, and not just being made, belongs to nobody. They are looked for at the end of a
 * step, when nobody waits any more, and only in the first entries of the place: in a directory of a
 * hundred thousand files a whole look would take longer than a step does. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/path.h"
#include "launcher/run.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum {
    LISTING_MAX = 32 * 1024, /* one call: some eight hundred names, 0.2 ms at the most */
    STALE_AGE_S = 30,        /* between making a directory and locking it there is a moment */
};

static const char prefix[] = "mprun-";

/* ---- our own --------------------------------------------------------------------------------- */

static int try_directory(struct run *r, const char *base, struct error *err)
{
    int n = snprintf(r->directory, sizeof(r->directory), "%s/%s%s", base, prefix, r->step.id);
    if (n < 0 || (size_t)n >= sizeof(r->directory)) {
        r->directory[0] = 0;
        return error_set(err, ENAMETOOLONG, "'%.80s...' is too long for a directory of sockets",
                         base);
    }
    r->directory_fd = path_make_private(r->directory, err);
    if (r->directory_fd < 0) {
        r->directory[0] = 0;
        return -1;
    }
    (void)flock(r->directory_fd, LOCK_EX | LOCK_NB); /* where there are no locks nothing is swept */
    return 0;
}

int home_make(struct run *r, struct error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    /* in a rank of another step TMPDIR is that step's, and goes with it whatever happens to us */
    if (!getenv("MPRUN_STEP_ID") && runtime && runtime[0] == '/' &&
        try_directory(r, runtime, err) == 0)
        return 0;
    if (tmp && tmp[0] == '/' && try_directory(r, tmp, err) == 0)
        return 0;
    if (try_directory(r, "/tmp", err) == 0)
        return 0;
    return error_context(err, "make a directory for the step's sockets");
}

/* ---- those that nobody has any more ---------------------------------------------------------- */

struct entry { /* struct linux_dirent64 */
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* A step's, by its name; not that of a host of one, which has a number behind a dot. */
static int is_name_of_step(const struct run *r, const char *name)
{
    size_t len = strlen(prefix);
    if (strncmp(name, prefix, len) != 0)
        return 0;
    name += len;
    return strlen(name) == strlen(r->step.id) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz234567") == strlen(name);
}

/* A lock on a file system of several machines may hold on the other ones only. */
static int is_local(int dir)
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

static void sweep_entry(void *arg, int parent, const char *place, const char *name)
{
    char path[512];
    struct stat st;
    struct error e;
    AUTO_CLOSE int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 07777) != 0700 ||
        time(NULL) - st.st_mtime < STALE_AGE_S || flock(dir, LOCK_EX | LOCK_NB) < 0)
        return;
    if (snprintf(path, sizeof(path), "%s/%s", place, name) >= (int)sizeof(path))
        return;
    log_debug("remove '%s', which an mprun that was killed has left", path);
    if (path_remove_tree(path, &e) < 0)
        log_debug("%s", e.text);
}

typedef void (*entry_fn)(void *arg, int dir, const char *place, const char *name);

static void each_step(const struct run *r, const char *place, entry_fn fn, void *arg)
{
    _Alignas(struct entry) char listing[LISTING_MAX];
    AUTO_CLOSE int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || !is_local(dir))
        return;
    long n = syscall(SYS_getdents64, dir, listing, sizeof(listing));
    for (long at = 0; at < n;) {
        const struct entry *e = (const void *)(listing + at);
        if (is_name_of_step(r, e->name))
            fn(arg, dir, place, e->name);
        at += e->length;
    }
}

/* ---- those of others --------------------------------------------------------------------------
 */

struct others {
    const struct run *run;
    void (*fn)(void *arg, const char *path);
    void *arg;
};

static void other_entry(void *arg, int parent, const char *place, const char *name)
{
    const struct others *o = arg;
    char path[sizeof(o->run->directory) + 64];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s/%s", place, name);
    if (n < (int)sizeof(path) && strcmp(path, o->run->directory) != 0 &&
        fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
        st.st_uid == geteuid() && (st.st_mode & 07777) == 0700)
        o->fn(o->arg, path);
}

void home_others(const struct run *r, void (*fn)(void *arg, const char *path), void *arg)
{
    struct others o = {.run = r, .fn = fn, .arg = arg};
    char place[sizeof(r->directory)];
    snprintf(place, sizeof(place), "%s", r->directory);
    char *end = strrchr(place, '/');
    if (!end)
        return;
    *end = 0;
    each_step(r, place[0] ? place : "/", other_entry, &o);
}

/* ---- the end --------------------------------------------------------------------------------- */

void home_remove(struct run *r)
{
    struct error e;
    if (!r->directory[0])
        return;
    if (path_remove_tree(r->directory, &e) < 0)
        log_warn("%s", e.text);
    close(take_fd(&r->directory_fd));
    *strrchr(r->directory, '/') = 0;
    each_step(r, r->directory[0] ? r->directory : "/", sweep_entry, NULL);
    r->directory[0] = 0;
}
