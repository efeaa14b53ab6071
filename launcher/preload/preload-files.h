/* SPDX-License-Identifier: BSD-3-Clause */
/* preload-files.h - which files of mprun's host are brought to the hosts of a step */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/error.h"
#include "model/preload.h"
#include "model/step.h"
#include "wire/preload-content.h"

struct preload_request;

struct preload_source { /* one content, wherever it is to appear */
    struct content what;
    char *path;       /* here */
    struct stat seen; /* when its hash was made */
};

struct preload_target { /* one place of a content on each host */
    size_t source;
    enum preload_kind kind;
    uint32_t app;
    char *name;
    uint32_t mode;
};

struct preload_files {
    struct preload_source *sources;
    size_t nsources;
    struct preload_target *targets;
    size_t ntargets;
    int no_program; /* enum exit_code, of a program that cannot be executed; 0: that is not it */
};

/* Opens and reads them all. */
int preload_files_collect(const struct preload_request *what, struct preload_files *ret,
                          struct error *err);
void preload_files_free(struct preload_files *f); /* what it holds, not itself */
/* Opens a source again: a descriptor, or -1 with err: also if the file is another one by now. */
int preload_source_open(const struct preload_source *s, struct error *err);
/* -1 when the open file has changed since it was read first. */
int preload_source_check(const struct preload_source *s, int fd, struct error *err);

/* ---- shared-libraries.c: the libraries of a program that are not the system's ---------------- */

/* A library: its name as programs ask for it, and where it was found. 0, or -1 with err. */
typedef int (*library_fn)(void *arg, const char *name, const char *path, struct error *err);

/* Calls take(arg) for those that the program at `path` needs, directly or not, and that the dynamic
 * loader would find outside of /lib, /usr/lib, /lib64 and /usr/lib64 with this LD_LIBRARY_PATH
 * (NULL: none). Nothing is executed. A file that is not ELF (a script) needs none. 0, or -1 with
 * err. */
int libraries_find(const char *path, const char *library_path, library_fn take, void *arg,
                   struct error *err);
/* Returns the first library that the program itself asks for and whose name begins with one of the
 * prefixes (NULL-terminated); the caller frees it. NULL: none, or no ELF file. */
char *libraries_needed(const char *path, const char *const prefixes[]);
/* Does the program take a function from a shared library whose name begins with one of the prefixes
 * (NULL-terminated)? False, too: no ELF file. */
bool program_calls(const char *path, const char *const prefixes[]);
