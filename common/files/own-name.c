/* SPDX-License-Identifier: BSD-3-Clause */
/* own-name.c - of several such names the oldest counts: who makes another one at the same time sees
 * that afterwards, and takes his away again */
#include "common/files/own-name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"

static const char letters[] = ".XXXXXX";

static bool is_own(const struct stat *st, mode_t type)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IFMT | 077)) == type;
}

static bool is_older(const struct stat *a, const char *a_name, const struct stat *b,
                     const char *b_name)
{
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
        return a->st_mtim.tv_sec < b->st_mtim.tv_sec;
    if (a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)
        return a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
    return strcmp(a_name, b_name) < 0;
}

/* The oldest one that begins with base: its name, "": there is none. */
static int find_oldest(const char *directory, const char *base, mode_t type, char ret[NAME_MAX + 1])
{
    struct stat st, oldest = {.st_size = 0};
    size_t n = strlen(base);
    DIR *d = opendir(directory);
    ret[0] = 0;
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));)
        if (!strncmp(e->d_name, base, n) && e->d_name[n] == '.' &&
            strlen(e->d_name + n) == sizeof(letters) - 1 &&
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_own(&st, type) &&
            (!ret[0] || is_older(&st, e->d_name, &oldest, ret))) {
            strcpy(ret, e->d_name);
            oldest = st;
        }
    (void)closedir(d);
    return 0;
}

static int make(char *name, mode_t type)
{
    if (type == S_IFDIR)
        return mkdtemp(name) ? 0 : -1;
    AUTO_CLOSE int fd = mkostemp(name, O_CLOEXEC);
    return fd < 0 ? -1 : 0;
}

/* Beside the name that somebody has taken. */
static char *other_name(const char *path, mode_t type, struct error *err)
{
    char oldest[NAME_MAX + 1];
    AUTO_FREE char *directory = must(strdup(path)), *made = text_format("%s%s", path, letters);
    char *slash = strrchr(directory, '/');
    if (!slash)
        return error_null(error_errno(err, EINVAL, "find a name in place of '%s'", path));
    *slash = 0;
    if (find_oldest(directory, slash + 1, type, oldest) < 0 ||
        (!oldest[0] && (make(made, type) < 0 ||
                        find_oldest(directory, slash + 1, type, oldest) < 0 || !oldest[0])))
        return error_null(error_errno(
            err, errno, "find a name in place of '%s', which another user has taken", path));
    char *name = text_format("%s/%s", directory, oldest);
    if (strcmp(made, name) != 0)
        (void)remove(made); /* another one was there first; or it never was */
    return name;
}

char *own_name(const char *path, mode_t type, struct error *err)
{
    struct stat st;
    bool is_taken = lstat(path, &st) == 0 && st.st_uid != geteuid();
    return is_taken ? other_name(path, type, err) : must(strdup(path));
}
