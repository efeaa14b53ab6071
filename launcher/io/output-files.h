/* SPDX-License-Identifier: BSD-3-Clause */
/* output-files.h - writes ranks' output to files on mprun's host
 *
 * Their names are patterns (output-pattern.h). Ranks whose patterns give the same name share the
 * file. Directories are made. A file is made anew, unless it is to be appended to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "launcher/io/output-pattern.h"

struct output_files;

struct output_files_options {
    const char *patterns[2]; /* of stdout and stderr; NULL: that one goes to no file */
    bool append;
    bool copy; /* output that goes to a file also goes to mprun's stdout or stderr */
};

/* names outlives it. is_merged: standard error goes to the files of standard output. umask: of
 * files and directories. */
struct output_files *output_files_create(const struct output_files_options *o,
                                         const struct output_names *names, bool is_merged,
                                         mode_t umask);
void output_files_destroy(struct output_files *f); /* NULL is fine */
/* Does this stream (1 or 2) go to files? */
bool output_files_take(const struct output_files *f, unsigned stream);
/* Write what a rank on a host wrote. 0, or -1 with a sentence that names the file. */
int output_files_put(struct output_files *f, uint32_t host, const struct bulk_header *h,
                     const void *data, size_t n, struct error *err);
