/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/output-files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "wire/messages/frame.h"

enum { OPEN_MAX_FILES = 256 }; /* descriptors at once; others are opened again when written to */

struct file {
    int fd;    /* -1: closed for want of descriptors */
    bool made; /* it was opened before */
    struct file *next_open;
    char path[];
};

struct output_files {
    struct output_files_options options;
    const struct output_names *names;
    bool is_merged; /* standard error goes where standard output goes */
    mode_t umask;   /* the user's: mprun's own is stricter */
    void *all;      /* tsearch()'s tree of files, by path */
    struct file *open;
    size_t nopen;
    struct buffer path; /* of the file that is written to */
};

/* ---- files ----------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static struct file *get_file(struct output_files *f, const char *path)
{
    struct file *new = must(calloc(1, sizeof(*new) + strlen(path) + 1));
    new->fd = -1;
    memcpy(new->path, path, strlen(path) + 1);
    struct file **found = must(tsearch(new, &f->all, by_path));
    if (*found != new)
        free(new);
    return *found;
}

/* mkdir -p of what is before the last '/'. */
static void make_directories(const char *path)
{
    char copy[PATH_MAX];
    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
        return;
    for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        mkdir(copy, 0777); /* what is missing is said when the file is opened */
        *slash = '/';
    }
}

static void close_all(struct output_files *f)
{
    for (struct file *file = f->open; file; file = file->next_open)
        cleanup_close(&file->fd);
    f->open = NULL;
    f->nopen = 0;
}

static int open_file(struct output_files *f, struct file *file)
{
    /* the file may be open under another name, too */
    int how = O_APPEND | (file->made || f->options.append ? 0 : O_TRUNC);
    if (file->fd >= 0)
        return 0;
    if (f->nopen >= OPEN_MAX_FILES)
        close_all(f);
    mode_t own = umask(f->umask);
    if (!file->made)
        make_directories(file->path);
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | how, 0666);
    umask(own);
    if (file->fd < 0)
        return -1;
    file->made = true;
    file->next_open = f->open;
    f->open = file;
    f->nopen++;
    return 0;
}

int output_files_put(struct output_files *f, uint32_t host, const struct bulk_header *h,
                     const void *data, size_t n, struct error *err)
{
    const struct bulk_header of = {.name = h->name, .stream = f->is_merged ? 1 : h->stream};
    const char *pattern = f->options.patterns[of.stream - 1];
    buffer_consume(&f->path, buffer_len(&f->path));
    output_pattern_expand(f->names, pattern, host, &of, NULL, NULL, &f->path);
    buffer_append(&f->path, "", 1);
    const char *path = (const char *)buffer_ptr(&f->path);
    struct file *file = get_file(f, path);
    if (open_file(f, file) < 0 || fd_write_all(file->fd, data, n) < 0)
        return error_errno(err, errno, "write the output of rank %u to '%.200s'", h->name.rank,
                           path);
    return 0;
}

struct output_files *output_files_create(const struct output_files_options *o,
                                         const struct output_names *names, bool is_merged,
                                         mode_t umask)
{
    struct output_files *f = must(calloc(1, sizeof(*f)));
    *f = (struct output_files){
        .options = *o, .names = names, .is_merged = is_merged, .umask = umask};
    return f;
}

void output_files_destroy(struct output_files *f)
{
    if (!f)
        return;
    close_all(f);
    tdestroy(f->all, free);
    buffer_free(&f->path);
    free(f);
}

bool output_files_take(const struct output_files *f, unsigned stream)
{
    return f && f->options.patterns[f->is_merged ? 0 : stream - 1];
}
