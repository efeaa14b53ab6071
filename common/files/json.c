/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - jansson behind dlopen(): the only file that knows it
 *
 * A struct json is jansson's json_t under another name. Only real functions of the library are
 * called; its inline ones would need the symbols at link time. */
#include "common/files/json.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"

#define JANSSON_FUNCTIONS(each)                                                                    \
    each(json_object) each(json_array) each(json_string_nocheck) each(json_integer)                \
        each(json_real) each(json_true) each(json_false) each(json_null)                           \
            each(json_object_set_new_nocheck) each(json_array_append_new) each(json_delete)        \
                each(json_dumps)

/* The one place that stays for the life of a process: a library is loaded once. */
#define MEMBER(function) __typeof__(function) *function;
static struct {
    void *handle;
    JANSSON_FUNCTIONS(MEMBER)
} lib;

#define SYMBOL(function) {#function, &lib.function},
static const struct {
    const char *name;
    void *slot;
} symbols[] = {JANSSON_FUNCTIONS(SYMBOL)};

int json_available(struct error *err)
{
    if (lib.handle)
        return 0;
    void *handle = dlopen("libjansson.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return error_set(err, ENOENT, "load the JSON library: %s", dlerror());
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *at = dlsym(handle, symbols[i].name);
        if (!at) {
            dlclose(handle);
            return error_set(err, ENOSYS, "load the JSON library: '%s' is missing in it",
                             symbols[i].name);
        }
        memcpy(symbols[i].slot, &at, sizeof(at));
    }
    lib.handle = handle;
    return 0;
}

struct json *json_new_object(void)
{
    return json_available(NULL) < 0 ? NULL : must(lib.json_object());
}

struct json *json_new_array(void)
{
    return json_available(NULL) < 0 ? NULL : must(lib.json_array());
}

/* jansson's json_decref() without its inline call of json_delete(). */
void json_free(struct json *j)
{
    json_t *value = (json_t *)j;
    if (value && value->refcount != (size_t)-1 && __sync_sub_and_fetch(&value->refcount, 1) == 0)
        lib.json_delete(value);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A copy with every byte that is no UTF-8 replaced; caller frees. */
static char *clean_text(const char *text)
{
    const char *in = text, *end = text + strlen(text);
    char *copy = must(malloc(3 * (size_t)(end - in) + 1)), *out = copy;
    while (in < end) {
        size_t n = utf8_sequence(in, (size_t)(end - in));
        if (n > 0) {
            out = mempcpy(out, in, n);
            in += n;
        } else {
            out = mempcpy(out, "\xef\xbf\xbd", 3);
            in++;
        }
    }
    *out = 0;
    return copy;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* NULL is left out of an object, and null in an array so that places stay. */
void json_put(struct json *in, const char *key, struct json *value)
{
    if (!in) {
        json_free(value);
        return;
    }
    if (!key) {
        lib.json_array_append_new((json_t *)in, value ? (json_t *)value : lib.json_null());
        return;
    }
    AUTO_FREE char *clean = clean_text(key);
    if (value)
        lib.json_object_set_new_nocheck((json_t *)in, clean, (json_t *)value);
}

static void put(struct json *in, const char *key, json_t *value)
{
    json_put(in, key, (struct json *)value);
}

void json_put_string(struct json *in, const char *key, const char *value)
{
    if (!in)
        return;
    AUTO_FREE char *clean = value ? clean_text(value) : NULL;
    put(in, key, clean ? lib.json_string_nocheck(clean) : NULL);
}

void json_put_int(struct json *in, const char *key, int64_t value)
{
    if (in)
        put(in, key, lib.json_integer(value));
}

void json_put_real(struct json *in, const char *key, double value)
{
    if (in)
        put(in, key, isfinite(value) ? lib.json_real(value) : NULL);
}

void json_put_bool(struct json *in, const char *key, int value)
{
    if (in)
        put(in, key, value ? lib.json_true() : lib.json_false());
}

/* ---- files ----------------------------------------------------------------------------------- */

static int write_text(int fd, const char *text, const char *path, struct error *err)
{
    if (fd_write_all(fd, text, strlen(text)) < 0 || fd_write_all(fd, "\n", 1) < 0)
        return error_errno(err, errno, "write '%s'", path);
    return 0;
}

/* Write beside path and rename, so that a reader sees the old document or the new one. */
static int replace_file(const char *path, const char *text, struct error *err)
{
    AUTO_FREE char *temporary = text_format("%s.%ld.new", path, (long)getpid());
    AUTO_CLOSE int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return error_errno(err, errno, "create '%s'", temporary);
    int failed = write_text(fd, text, path, err) < 0;
    if (!failed && (close(take_fd(&fd)) < 0 || rename(temporary, path) < 0))
        failed = error_errno(err, errno, "write '%s'", path) < 0;
    if (failed)
        unlink(temporary);
    return failed ? -1 : 0;
}

/* Devices, pipes and the like are written to; a symbolic link is followed to what it names, or will
 * name. */
static int write_path(const char *path, const char *text, struct error *err)
{
    struct stat st;
    if (stat(path, &st) < 0 && lstat(path, &st) < 0)
        return replace_file(path, text, err);
    if (!S_ISREG(st.st_mode)) {
        AUTO_CLOSE int fd =
            open(path, O_WRONLY | O_CLOEXEC | (S_ISLNK(st.st_mode) ? O_CREAT : 0), 0666);
        if (fd < 0)
            return error_errno(err, errno, "open '%s'", path);
        return write_text(fd, text, path, err);
    }
    AUTO_FREE char *target = realpath(path, NULL);
    return replace_file(target ? target : path, text, err);
}

int json_write_file(struct json *j, const char *path, struct error *err)
{
    if (!j)
        return json_available(err);
    AUTO_FREE char *text = must(lib.json_dumps((json_t *)j, JSON_INDENT(2) | JSON_PRESERVE_ORDER |
                                                                JSON_REAL_PRECISION(15)));
    json_free(j);
    if (strcmp(path, "-") == 0)
        return write_text(STDOUT_FILENO, text, "standard output", err);
    return write_path(path, text, err);
}

int json_may_write(const char *path, struct error *err)
{
    struct stat st;
    if (json_available(err) < 0)
        return -1;
    if (strcmp(path, "-") == 0)
        return 0;
    bool is_there = stat(path, &st) == 0;
    if (is_there && S_ISDIR(st.st_mode))
        return error_errno(err, EISDIR, "open '%s'", path);
    if (is_there && !S_ISREG(st.st_mode))
        return access(path, W_OK) == 0 ? 0 : error_errno(err, errno, "open '%s'", path);
    AUTO_FREE char *target = is_there ? realpath(path, NULL) : NULL;
    const char *file = target ? target : path, *slash = strrchr(file, '/');
    AUTO_FREE char *directory =
        slash ? text_format("%.*s", (int)(slash + 1 - file), file) : text_format(".");
    return access(directory, W_OK | X_OK) == 0
               ? 0
               : error_errno(err, errno, "create a file in '%s'", directory);
}
