/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/preload/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/files/path.h"
#include "starter/tunables.h"

enum {
    NAME_SIZE = 2 * CONTENT_HASH + 8,
    HEX = 2 * CONTENT_HASH,
};

static const char unfinished[] = "new-";

struct cache {
    int dir;
    uint64_t limit;
    char *path;
};

struct cache_file {
    crypto_generichash_state hash; /* first: it is aligned */
    struct cache *cache;
    struct content what;
    uint64_t written;
    int fd;
    char name[NAME_SIZE];
};

struct cache *cache_open(const char *path, uint64_t limit, struct error *err)
{
    struct cache *c = must(calloc(1, sizeof(*c)));
    c->path = must(strdup(path));
    c->limit = limit;
    c->dir = path_ensure_private(path, err);
    if (c->dir >= 0)
        return c;
    cache_close(c);
    return NULL;
}

void cache_close(struct cache *c)
{
    if (!c)
        return;
    cleanup_close(&c->dir);
    free(c->path);
    free(c);
}

/* The name contains the permissions, because links of a file share them. */
static void name_of(const struct content *what, char name[NAME_SIZE])
{
    sodium_bin2hex(name, HEX + 1, what->hash, CONTENT_HASH);
    strcpy(name + HEX, what->executable ? ".x" : "");
}

static mode_t mode_of(const struct content *what)
{
    return what->executable ? 0500 : 0400;
}

/* ---- what is there --------------------------------------------------------------------------- */

struct entry {
    char name[NAME_SIZE];
    uint64_t size;
    struct timespec used;
};

struct entries {
    struct entry *all;
    size_t n;
    uint64_t total;
};

static bool is_finished(const char *name)
{
    size_t hex = strspn(name, "0123456789abcdef");
    return hex == HEX && (!name[hex] || strcmp(name + hex, ".x") == 0);
}

/* A file without a lock has no writer any more: removes it. */
static void remove_stale(struct cache *c, const char *name, const struct stat *st)
{
    AUTO_CLOSE int fd = -1;
    if (time(NULL) - st->st_mtime < CACHE_STALE_SECONDS)
        return;
    fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(c->dir, name, 0);
}

static void look_at(struct cache *c, const char *name, struct entries *ret)
{
    struct stat st;
    if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    if (strncmp(name, unfinished, strlen(unfinished)) == 0)
        remove_stale(c, name, &st);
    if (!is_finished(name))
        return;
    ret->all = must(reallocarray(ret->all, ret->n + 1, sizeof(*ret->all)));
    struct entry *e = &ret->all[ret->n++];
    strcpy(e->name, name);
    e->size = (uint64_t)st.st_size;
    e->used = st.st_mtim;
    ret->total += e->size;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct entry *)a)->used,
                          *y = &((const struct entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static struct entries list(struct cache *c)
{
    struct entries ret = {0};
    AUTO_DIR DIR *d = dir_take_fd(openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (struct dirent *e; d && (e = readdir(d));)
        look_at(c, e->d_name, &ret);
    if (ret.n)
        qsort(ret.all, ret.n, sizeof(*ret.all), by_use);
    return ret;
}

/* Removes the longest unused files, until no more than `most` bytes are left. */
static void shrink(struct cache *c, uint64_t most)
{
    struct entries e = list(c);
    for (size_t i = 0; i < e.n && e.total > most; i++) {
        unlinkat(c->dir, e.all[i].name, 0);
        e.total -= e.all[i].size;
    }
    free(e.all);
}

void cache_trim(struct cache *c, uint64_t room)
{
    shrink(c, room < c->limit ? c->limit - room : 0);
}

void cache_empty(struct cache *c)
{
    struct entries e = list(c);
    for (size_t i = 0; i < e.n; i++)
        unlinkat(c->dir, e.all[i].name, 0);
    free(e.all);
}

static int is_good(int fd, const struct content *what)
{
    struct stat st;
    struct content found;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 07777) == mode_of(what) && (uint64_t)st.st_size == what->size &&
           content_read(fd, &found) == 0 && found.size == what->size &&
           memcmp(found.hash, what->hash, CONTENT_HASH) == 0;
}

int cache_find(struct cache *c, const struct content *what)
{
    static const struct timespec now[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    char name[NAME_SIZE];
    name_of(what, name);
    AUTO_CLOSE int fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ELOOP || errno == EACCES)
            unlinkat(c->dir, name, 0);
        return -1;
    }
    if (!is_good(fd, what)) {
        unlinkat(c->dir, name, 0);
        return -1;
    }
    futimens(fd, now);
    return take_fd(&fd);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int cannot_store(const struct cache_file *f, int code, struct error *err)
{
    return error_errno(err, code, "store %llu bytes in '%s'", (unsigned long long)f->what.size,
                       f->cache->path);
}

static int make_new(struct cache_file *f)
{
    snprintf(f->name, sizeof(f->name), "%s%08x%08x", unfinished, randombytes_random(),
             randombytes_random());
    f->fd =
        openat(f->cache->dir, f->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (f->fd >= 0)
        (void)flock(f->fd, LOCK_EX | LOCK_NB); /* if it fails, only removal is later */
    return f->fd;
}

/* Reserves the room, so that mprun knows of a full file system before it sends anything. Some file
 * systems cannot. */
static int reserve(struct cache_file *f)
{
    if (fallocate(f->fd, 0, 0, (off_t)f->what.size) == 0)
        return 0;
    if (errno != ENOSPC && errno != EDQUOT)
        return errno == EFBIG ? -1 : 0;
    shrink(f->cache, 0);
    return fallocate(f->fd, 0, 0, (off_t)f->what.size);
}

struct cache_file *cache_create(struct cache *c, const struct content *what, struct error *err)
{
    struct cache_file *f = must(aligned_alloc(_Alignof(struct cache_file), sizeof(*f)));
    memset(f, 0, sizeof(*f));
    f->cache = c;
    f->what = *what;
    crypto_generichash_init(&f->hash, NULL, 0, CONTENT_HASH);
    cache_trim(c, what->size);
    if (make_new(f) >= 0 && (what->size == 0 || reserve(f) == 0))
        return f;
    cannot_store(f, errno, err);
    cache_drop(f);
    return NULL;
}

int cache_write(struct cache_file *f, const void *p, size_t n, struct error *err)
{
    if (n > f->what.size - f->written)
        return error_set(err, EBADMSG, "it has more than the %llu bytes that were announced",
                         (unsigned long long)f->what.size);
    crypto_generichash_update(&f->hash, p, n);
    f->written += n;
    if (fd_write_all(f->fd, p, n) == 0)
        return 0;
    return cannot_store(f, errno, err);
}

void cache_drop(struct cache_file *f)
{
    if (!f)
        return;
    if (f->fd >= 0) {
        unlinkat(f->cache->dir, f->name, 0);
        close(f->fd);
    }
    free(f);
}

/* A file that is open for writing cannot be executed: opens it again for reading. */
static int seal(struct cache_file *f, struct error *err)
{
    if (fchmod(f->fd, mode_of(&f->what)) < 0)
        return cannot_store(f, errno, err);
    int fd = openat(f->cache->dir, f->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return cannot_store(f, errno, err);
    close(f->fd);
    f->fd = fd;
    return 0;
}

int cache_finish(struct cache_file *f, struct error *err)
{
    uint8_t hash[CONTENT_HASH];
    char name[NAME_SIZE];
    int fd = -1;
    crypto_generichash_final(&f->hash, hash, sizeof(hash));
    if (f->written != f->what.size || memcmp(hash, f->what.hash, sizeof(hash)) != 0) {
        error_set(err, EBADMSG, "what came is not what was announced: was it changed meanwhile?");
    } else if (seal(f, err) == 0) {
        name_of(&f->what, name);
        /* another step may have brought the content meanwhile: use its file rather than a second */
        fd = cache_find(f->cache, &f->what);
        if (fd < 0 && renameat(f->cache->dir, f->name, f->cache->dir, name) == 0) {
            fd = f->fd;
            f->fd = -1;
        } else if (fd < 0) {
            cannot_store(f, errno, err);
        }
    }
    cache_drop(f);
    return fd;
}
