/* SPDX-License-Identifier: BSD-3-Clause */
/* host-directories.h - the step's private directories on this host, and the TMPDIR of its ranks
 *
 * One directory is in the job's TMPDIR, or in /tmp; it holds the ranks' TMPDIR and files that were
 * brought. A step with PMIx has another one on /dev/shm: for shared memory, and for the many small
 * files of the PMI server and of MPIs, which take longer on a disk than all else that these do at
 * the start. Both are locked as long as this process lives: other steps remove directories that
 * nobody locks. */
#pragma once

#include <stddef.h>

#include "common/error.h"

struct launch;

struct host_directory {
    char path[128]; /* "": it was not made */
    int fd;         /* holds the lock; -1: none */
};

/* Others only read it. As zero: none were made. */
struct host_directories {
    const struct launch *launch;
    const char *name;
    const char *job_tmpdir; /* the TMPDIR that the resource manager made for the job on this host;
                               NULL: there is none, ranks have `t` in the main directory */
    struct host_directory main, memory;
};

/* Make them, and tell the keeper each. name: of the directories (wire/host-directory.h). launch and
 * name must live as long. -1 with err; those that were made are still listed. */
int host_directories_make(struct host_directories *d, const struct launch *launch, const char *name,
                          int keeper_fd, struct error *err);
void host_directories_free(struct host_directories *d); /* removes nothing */

/* The directories that were made: their number, and their paths. */
enum { HOST_DIRECTORIES_MAX = 2 };
size_t host_directories_list(const struct host_directories *d,
                             const char *ret[HOST_DIRECTORIES_MAX]);
const char *host_directories_memory(const struct host_directories *d); /* for shared memory */
/* Remove what other steps of this user left beside these directories when they were killed. */
void host_directories_sweep(const struct host_directories *d);
