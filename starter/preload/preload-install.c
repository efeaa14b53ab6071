/* SPDX-License-Identifier: BSD-3-Clause */
/* preload-install.c - where the ranks of this host find the files that were brought
 *
 * They go into the step's directory, and are removed with it: programs into x0, x1, ... (by app),
 * libraries into l, data into f; those of world 1 into w1/x0 and so on. Programs and libraries are
 * links to the cache's files if possible; data are copies, because a rank may change its own. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/must.h"
#include "common/files/path.h"
#include "common/text/text.h"
#include "starter/host-directories.h"
#include "starter/tunables.h"
#include "starter/preload/preload.h"
#include "starter/services.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"

/* ---- one file -------------------------------------------------------------------------------- */

static int copy_plainly(int from, int to)
{
    AUTO_FREE char *data = must(malloc(COPY_BYTES));
    ssize_t n;
    for (off_t at = 0; (n = pread(from, data, COPY_BYTES, at)) > 0; at += n)
        if (fd_write_all(to, data, (size_t)n) < 0)
            return -1;
    return n < 0 ? -1 : 0;
}

/* Lets both files share their blocks until one is changed, if the file system can. */
static int copy_content(int from, int to)
{
    return ioctl(to, FICLONE, from) == 0 ? 0 : copy_plainly(from, to);
}

static int copy_file(int from, int dir, const char *name, mode_t mode)
{
    AUTO_CLOSE int to =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return -1;
    if (copy_content(from, to) == 0 && fchmod(to, mode) == 0)
        return 0;
    int saved = errno;
    unlinkat(dir, name, 0);
    errno = saved;
    return -1;
}

/* Fails if the directory is on another file system, or the file has left the cache meanwhile. */
static int link_file(int from, int dir, const char *name)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
    return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW);
}

static int put(const struct preload_content *c, const Mprun__PreloadPlace *m, int dir,
               const char *name)
{
    if (m->kind == PRELOAD_DATA) /* its user can always read it, and it is never set-id */
        return copy_file(c->fd, dir, name, (m->mode & 0777) | 0400);
    if (link_file(c->fd, dir, name) == 0)
        return 0;
    return copy_file(c->fd, dir, name, c->what.executable ? 0500 : 0400);
}

/* ---- all of them ----------------------------------------------------------------------------- */

enum { DIRECTORY_SIZE = 32 };

static void directory_of(const struct brought *b, const Mprun__PreloadPlace *m,
                         char ret[DIRECTORY_SIZE])
{
    int n = b->world ? snprintf(ret, DIRECTORY_SIZE, "w%u/", b->world) : 0;
    if (m->kind == PRELOAD_PROGRAM)
        snprintf(ret + n, DIRECTORY_SIZE - (size_t)n, "x%u", m->app);
    else
        snprintf(ret + n, DIRECTORY_SIZE - (size_t)n, "%s", m->kind == PRELOAD_LIBRARY ? "l" : "f");
}

static void remember(struct brought *b, const char *home, const Mprun__PreloadPlace *m,
                     const char *name)
{
    char directory[DIRECTORY_SIZE], **to = &b->directories[m->kind];
    directory_of(b, m, directory);
    if (m->kind == PRELOAD_PROGRAM) {
        to = &b->programs[m->app];
        free(*to);
        *to = text_format("%s/%s/%s", home, directory, name);
    } else if (!*to) {
        *to = text_format("%s/%s", home, directory);
    }
}

static int place(struct preload *pre, struct brought *b, const char *home, int home_fd,
                 const Mprun__PreloadPlace *m, struct error *err)
{
    const struct preload_content *c = &pre->contents[m->content];
    AUTO_FREE char *name = bytes_dup(&m->name);
    char directory[DIRECTORY_SIZE];
    const char *last;
    if (m->kind == PRELOAD_PROGRAM && m->app >= b->napps)
        return error_set(err, EPROTO, "protocol error: a program %u that there is not", m->app);
    if (!name)
        return error_set(err, EPROTO, "protocol error: the name of a file has a NUL byte");
    directory_of(b, m, directory);
    AUTO_FREE char *path = text_format("%s/%s", directory, name);
    AUTO_CLOSE int dir = path_make_beneath(home_fd, path, &last, err);
    if (dir < 0)
        return error_context(err, "make '%s/%s'", home, path);
    if (put(c, m, dir, last) < 0)
        return error_errno(err, errno, "make '%s/%s'", home, path);
    remember(b, home, m, name);
    return 0;
}

static int place_all(struct preload *pre, struct brought *b, const char *home, struct error *err)
{
    AUTO_CLOSE int home_fd = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (home_fd < 0)
        return error_errno(err, errno, "open '%s'", home);
    for (size_t i = 0; i < pre->offer->n_places; i++)
        if (place(pre, b, home, home_fd, pre->offer->places[i], err) < 0)
            return -1;
    return 0;
}

int preload_install(struct preload *pre, const struct starter_services *world, struct brought *ret,
                    struct error *err)
{
    const struct launch *launch = world->launch;
    if (!pre->offer || pre->offer->world != launch->world)
        return 0;
    const char *home = host_directories_main(world->directories, err);
    if (!home)
        return -1;
    if (pre->is_stopped || !pre->is_done)
        return error_set(err, EPROTO, "protocol error: LAUNCH before all files are here");
    ret->world = launch->world;
    ret->programs = must(calloc(launch->step.napps + 1, sizeof(*ret->programs)));
    ret->napps = (uint32_t)launch->step.napps;
    int rc =
        pre->why_not ? error_set(err, EIO, "%s", pre->why_not) : place_all(pre, ret, home, err);
    preload_stop(pre);
    if (pre->cache)
        cache_trim(pre->cache, 0); /* now also a content that is larger than the limit */
    return rc;
}

void brought_free(struct brought *b)
{
    for (uint32_t i = 0; i < b->napps; i++)
        free(b->programs[i]);
    for (size_t i = 0; i < PRELOAD_KIND_COUNT; i++)
        free(b->directories[i]);
    free(b->programs);
}

void brought_remove(const struct brought *b, const char *home)
{
    struct error e;
    if (!b->world)
        return;
    AUTO_FREE char *path = text_format("%s/w%u", home, b->world);
    if (path_remove_tree(path, &e) < 0)
        log_warn("%s", e.text);
}
