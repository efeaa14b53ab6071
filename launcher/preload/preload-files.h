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

struct preload_options;

struct preload_request { /* borrowed for the call */
    const struct preload_options *options;
    uint32_t world;
    const struct app *apps;
    size_t napps;
    const char *directory; /* for relative names of files; "": mprun's own */
    bool spawned;          /* a rank spawns the programs: spawn_resolve_here finds them */
};

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
