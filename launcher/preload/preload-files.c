/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/preload/preload-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/files/path.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "launcher/cmdline/cmdline.h"
#include "launcher/preload/program-path.h"
#include "launcher/preload/shared-libraries.h"
#include "model/rank-end.h"

/* ---- one file -------------------------------------------------------------------------------- */

static int open_regular(const char *path, struct stat *ret, struct error *err)
{
    /* a FIFO would wait for somebody to write */
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, ret) < 0)
        return error_errno(err, errno, "open '%s' on mprun's host, to bring it to the others",
                           path);
    if (S_ISDIR(ret->st_mode))
        return error_set(
            err, EISDIR,
            "'%s' on mprun's host is a directory; only files are brought to the others", path);
    if (!S_ISREG(ret->st_mode))
        return error_set(
            err, EINVAL,
            "'%s' on mprun's host is no regular file; only those are brought to the others", path);
    return take_fd(&fd);
}

static int same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int preload_source_check(const struct preload_source *s, int fd, struct error *err)
{
    struct stat now;
    if (fstat(fd, &now) == 0 && same_file(&now, &s->seen))
        return 0;
    return error_set(
        err, EAGAIN,
        "'%s' on mprun's host was changed while it was brought to the others; start again",
        s->path);
}

int preload_source_open(const struct preload_source *s, struct error *err)
{
    struct stat now;
    AUTO_CLOSE int fd = open_regular(s->path, &now, err);
    if (fd < 0 || preload_source_check(s, fd, err) < 0)
        return -1;
    return take_fd(&fd);
}

static int read_source(struct preload_source *s, struct error *err)
{
    AUTO_CLOSE int fd = open_regular(s->path, &s->seen, err);
    if (fd < 0)
        return -1;
    if (content_read(fd, &s->what) < 0)
        return error_errno(err, errno, "read '%s' on mprun's host", s->path);
    return preload_source_check(s, fd, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static int same_content(const struct content *a, const struct content *b)
{
    return memcmp(a->hash, b->hash, CONTENT_HASH) == 0 && a->executable == b->executable;
}

/* The file of a target: mode and source are its. */
static int add_source(struct preload_files *f, const char *path, struct preload_target *t,
                      struct error *err)
{
    int executable = t->kind == PRELOAD_PROGRAM;
    f->sources = must(reallocarray(f->sources, f->nsources + 1, sizeof(*f->sources)));
    struct preload_source *s = &f->sources[f->nsources];
    *s = (struct preload_source){.what.executable = executable, .path = must(strdup(path))};
    if (read_source(s, err) < 0) {
        free(s->path);
        return -1;
    }
    t->mode = s->seen.st_mode & 0777;
    for (t->source = 0; t->source < f->nsources; t->source++)
        if (same_content(&f->sources[t->source].what, &s->what)) {
            free(s->path);
            return 0;
        }
    f->nsources++;
    return 0;
}

static bool is_taken(const struct preload_files *f, const struct preload_target *t)
{
    for (size_t i = 0; i < f->ntargets; i++)
        if (f->targets[i].kind == t->kind && f->targets[i].app == t->app &&
            strcmp(f->targets[i].name, t->name) == 0)
            return true;
    return false;
}

static int add(struct preload_files *f, const char *path, struct preload_target t, const char *name,
               struct error *err)
{
    f->targets = must(reallocarray(f->targets, f->ntargets + 1, sizeof(*f->targets)));
    t.name = (char *)(uintptr_t)name;
    if (is_taken(f, &t))
        return error_set(err, EEXIST, "--preload-files: two files would be '%s' on the hosts",
                         name);
    if (f->ntargets == PRELOAD_FILES_MAX)
        return error_set(err, E2BIG, "more than %d files cannot be brought to the hosts",
                         PRELOAD_FILES_MAX);
    if (add_source(f, path, &t, err) < 0)
        return -1;
    t.name = must(strdup(name));
    f->targets[f->ntargets++] = t;
    return 0;
}

/* ---- what was asked for ---------------------------------------------------------------------- */

/* Several programs may need the same library. */
static int take_library(void *arg, const char *name, const char *path, struct error *err)
{
    struct preload_files *f = arg;
    const struct preload_target t = {.kind = PRELOAD_LIBRARY, .name = (char *)(uintptr_t)name};
    return is_taken(f, &t) ? 0 : add(f, path, t, name, err);
}

static int collect_app(const struct preload_request *what, uint32_t index,
                       struct preload_files *ret, struct error *err)
{
    AUTO_FREE char *path = NULL;
    const struct preload_options *o = what->options;
    const struct app *a = &what->apps[index];
    struct preload_target t = {.kind = PRELOAD_PROGRAM, .app = index};
    if (program_path(a, a->argv[0], what->spawned, &path, err) < 0) {
        path = NULL;
        ret->no_program = err->code == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXEC;
        return error_context(err, "find the program on mprun's host, to bring it to the others");
    }
    if (o->libs && libraries_find(path, spawn_env_value(a->envp, "LD_LIBRARY_PATH"), take_library,
                                  ret, err) < 0)
        return error_context(err, "--preload-libs");
    return o->binary ? add(ret, path, t, basename(path), err) : 0;
}

static int collect_list(const char *list, const char *directory, struct preload_files *ret,
                        struct error *err)
{
    for (;; list++) {
        size_t len = strcspn(list, ",");
        AUTO_FREE char *path = must(strndup(list, len));
        const char *between = *directory && *path != '/' ? "/" : "";
        AUTO_FREE char *full = text_format("%s%s%s", *between ? directory : "", between, path);
        struct preload_target t = {.kind = PRELOAD_DATA};
        if (!path_is_beneath(cmdline_preload_name(path)))
            return error_set(err, EINVAL, "hosts have no place for the file '%s'", path);
        if (add(ret, full, t, cmdline_preload_name(path), err) < 0)
            return -1;
        list += len;
        if (!*list)
            return 0;
    }
}

int preload_files_collect(const struct preload_request *what, struct preload_files *ret,
                          struct error *err)
{
    const struct preload_options *o = what->options;
    for (size_t i = 0; (o->binary || o->libs) && i < what->napps; i++)
        if (collect_app(what, (uint32_t)i, ret, err) < 0)
            return -1;
    for (size_t i = 0; i < o->nfiles; i++)
        if (collect_list(o->files[i], what->directory, ret, err) < 0)
            return -1;
    return 0;
}

void preload_files_free(struct preload_files *f)
{
    for (size_t i = 0; i < f->nsources; i++)
        free(f->sources[i].path);
    for (size_t i = 0; i < f->ntargets; i++)
        free(f->targets[i].name);
    free(f->sources);
    free(f->targets);
}
