/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories are walked by descriptor: a name is opened without following links, looked at, and
 * only then entered, so that nobody can exchange a part of the path under us. Removal goes no
 * deeper than REMOVE_DEPTH directories, which bounds stack and descriptors. */
#include "common/files/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"

enum {
    OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    REMOVE_DEPTH = 256,
};

int path_make_private(const char *path, struct error *err)
{
    if (mkdir(path, 0700) < 0)
        return error_errno(err, errno, "make directory '%s'", path);
    AUTO_CLOSE int fd = open(path, OPEN_DIR);
    if (fd < 0) {
        int code = errno;
        rmdir(path);
        return error_errno(err, code, "open the new directory '%s'", path);
    }
    /* somebody who can rename in the parent could have put another one there */
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
        return error_set(err, EPERM, "open the new directory '%s': somebody replaced it", path);
    if (st.st_mode & 077)
        fchmod(fd, 0700); /* a default ACL may have opened it */
    return take_fd(&fd);
}

/* Is the open directory ours, and closed to others? */
static int check_private(int fd, const char *path, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_errno(err, errno, "look at directory '%s'", path);
    if (st.st_uid != geteuid())
        return error_set(err, EPERM,
                         "use directory '%s': it belongs to user %u, it must belong to user %u",
                         path, (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & 077)
        return error_set(
            err, EPERM,
            "use directory '%s': its mode is %04o, others must not enter it (chmod 700 helps)",
            path, (unsigned)st.st_mode & 07777);
    return 0;
}

/* Make the missing directories in front of the last component. Existing ones are as they are. */
static int make_parents(char *path, struct error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int rc = mkdir(path, 0700);
        if (rc < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return error_errno(err, errno, "make directory '%s'", path);
        *slash = '/';
    }
    return 0;
}

int path_ensure_private(const char *path, struct error *err)
{
    AUTO_FREE char *copy = must(strdup(path));
    size_t len = strlen(copy);
    while (len > 1 && copy[len - 1] == '/')
        copy[--len] = 0;
    if (make_parents(copy, err) < 0)
        return -1;
    if (mkdir(copy, 0700) < 0 && errno != EEXIST)
        return error_errno(err, errno, "make directory '%s'", path);
    AUTO_CLOSE int fd = open(copy, OPEN_DIR);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return error_set(err, errno, "use directory '%s': it is not a directory", path);
    if (fd < 0)
        return error_errno(err, errno, "open directory '%s'", path);
    if (check_private(fd, path, err) < 0)
        return -1;
    return take_fd(&fd);
}

/* ---- beneath --------------------------------------------------------------------------------- */

bool path_is_beneath(const char *name)
{
    if (strlen(name) >= PATH_MAX)
        return false;
    for (;;) {
        size_t len = strcspn(name, "/");
        if (len == 0 || len > NAME_MAX || (len == 1 && name[0] == '.') ||
            (len == 2 && memcmp(name, "..", 2) == 0))
            return false;
        name += len;
        if (!*name++)
            return true;
    }
}

int path_make_beneath(int dir, const char *name, const char **ret_last, struct error *err)
{
    char part[NAME_MAX + 1];
    if (!path_is_beneath(name))
        return error_set(err, EINVAL, "'%.200s' is not the name of something beneath a directory",
                         name);
    AUTO_CLOSE int at = openat(dir, ".", OPEN_DIR);
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
        if (mkdirat(at, part, 0700) < 0 && errno != EEXIST)
            return error_errno(err, errno, "make directory '%s'", part);
        int next = openat(at, part, OPEN_DIR);
        close(at);
        at = next;
    }
    if (at < 0)
        return error_errno(err, errno, "open the directory of '%s'", name);
    *ret_last = name;
    return take_fd(&at);
}

/* ---- removal --------------------------------------------------------------------------------- */

struct removal {
    dev_t dev;      /* the file system that is not left */
    uid_t uid;      /* who removes */
    unsigned depth; /* directories we are inside of */
    char path[PATH_MAX];
    struct error *err; /* the first thing that could not go */
    int failed;
};

static void removal_failed(struct removal *r, int code, const char *why)
{
    if (!r->failed++)
        error_set(r->err, code, "remove '%s': %s", r->path, why);
}

static void remove_entry(struct removal *r, int dir, int dir_is_ours, const char *name);

/* Remove what is in the open directory; takes dir. */
static void remove_below(struct removal *r, int dir, int dir_is_ours)
{
    AUTO_DIR DIR *d = fdopendir(dir);
    if (!d) {
        removal_failed(r, errno, strerror(errno));
        close(dir);
        return;
    }
    size_t len = strlen(r->path);
    r->depth++;
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(r->path + len, sizeof(r->path) - len, "/%s", e->d_name);
        remove_entry(r, dirfd(d), dir_is_ours, e->d_name);
        r->path[len] = 0;
    }
    r->depth--;
}

/* Open a directory that has just been looked at; -1 when it cannot or is another one by now. One of
 * ours that is closed to ourselves is opened up: it is about to go. */
static int open_for_removal(struct removal *r, int dir, const char *name, const struct stat *seen)
{
    int ours = seen->st_uid == r->uid;
    int fd = openat(dir, name, OPEN_DIR);
    if (fd < 0 && errno == EACCES && ours && fchmodat(dir, name, 0700, 0) == 0)
        fd = openat(dir, name, OPEN_DIR);
    if (fd < 0) {
        removal_failed(r, errno, strerror(errno));
        return -1;
    }
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_dev != seen->st_dev || st.st_ino != seen->st_ino) {
        removal_failed(r, EAGAIN, "it was exchanged while it was looked at");
        close(fd);
        return -1;
    }
    if (ours && (st.st_mode & 0700) != 0700)
        fchmod(fd, 0700);
    return fd;
}

/* A bind mount has the device of the file system it shows: only newer kernels (5.8) tell. */
static bool is_mount_root(int dir, const char *name)
{
    struct statx x;
    return statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &x) == 0 &&
           (x.stx_attributes_mask & x.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static void remove_directory(struct removal *r, int dir, const char *name, const struct stat *st)
{
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0) /* it was empty, as most are */
        return;
    if (st->st_dev != r->dev || is_mount_root(dir, name)) {
        removal_failed(r, EXDEV, "another file system is mounted there");
        return;
    }
    if (r->depth >= REMOVE_DEPTH) {
        removal_failed(r, ELOOP, "directories are nested too deep");
        return;
    }
    int fd = open_for_removal(r, dir, name, st);
    if (fd < 0)
        return;
    int before = r->failed;
    remove_below(r, fd, st->st_uid == r->uid);
    if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT && r->failed == before)
        removal_failed(r, errno, strerror(errno));
}

static void remove_entry(struct removal *r, int dir, int dir_is_ours, const char *name)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT)
            removal_failed(r, errno, strerror(errno));
        return;
    }
    if (!dir_is_ours && st.st_uid != r->uid) {
        char why[80];
        snprintf(why, sizeof(why), "it belongs to user %u", (unsigned)st.st_uid);
        removal_failed(r, EPERM, why);
    } else if (S_ISDIR(st.st_mode)) {
        remove_directory(r, dir, name, &st);
    } else if (unlinkat(dir, name, 0) < 0 && errno != ENOENT) {
        removal_failed(r, errno, strerror(errno));
    }
}

/* Split into the open parent directory and the last component's name (within path). */
static int open_parent(char *path, const char **ret_name)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = 0;
    char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    if (!slash)
        return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (slash == path)
        return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    *slash = 0;
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int path_remove_tree(const char *path, struct error *err)
{
    struct removal r = {.uid = geteuid(), .err = err};
    struct stat st;
    const char *name;
    if (strlen(path) >= sizeof(r.path))
        return error_errno(err, ENAMETOOLONG, "remove '%.100s...'", path);
    AUTO_FREE char *copy = must(strdup(path));
    AUTO_CLOSE int parent = open_parent(copy, &name);
    if (parent >= 0 && (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
        return error_set(err, EINVAL, "remove '%s': not a name of a file or directory", path);
    /* the device of the parent: a mount point at path itself is not ours to empty either */
    if (parent < 0 || fstat(parent, &st) < 0)
        return errno == ENOENT ? 0 : error_errno(err, errno, "remove '%s'", path);
    strcpy(r.path, path);
    r.dev = st.st_dev;
    remove_entry(&r, parent, 0, name);
    if (!r.failed)
        return 0;
    if (r.failed > 1) {
        struct error first = err ? *err : (struct error){0};
        error_set(err, first.code, "%.900s (and %d more)", first.text, r.failed - 1);
    }
    return -1;
}

/* ---- our own programs ------------------------------------------------------------------------ */

static const char *stands_for;

void path_stand_for(const char *path)
{
    stands_for = path;
}

char *path_own_directory(struct error *err)
{
    char buf[PATH_MAX];
    ssize_t n = stands_for ? 0 : readlink("/proc/self/exe", buf, sizeof(buf) - 1);
    if (n < 0)
        return error_null(error_errno(err, errno, "find this program through '/proc/self/exe'"));
    buf[n] = 0;
    if (stands_for)
        snprintf(buf, sizeof(buf), "%s", stands_for);
    char *slash = strrchr(buf, '/');
    if (!slash)
        return error_null(error_set(err, ENOENT, "find this program: '%s' is no path", buf));
    slash[slash == buf] = 0;
    return must(strdup(buf));
}

static bool is_executable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *path_find_helper(const char *const relative[], const char *fallback, struct error *err)
{
    AUTO_FREE char *own = path_own_directory(err);
    if (!own)
        return NULL;
    for (size_t i = 0; relative[i]; i++) {
        AUTO_FREE char *path = text_format("%s/%s", own, relative[i]);
        if (is_executable(path))
            return take_ptr(path);
    }
    if (fallback && is_executable(fallback))
        return must(strdup(fallback));
    return error_null(
        error_set(err, ENOENT,
                  "find '%s': it is neither beside '%s' nor at '%s'; is the installation complete?",
                  relative[0] ? relative[0] : "", own, fallback ? fallback : "(nowhere)"));
}
