/* SPDX-License-Identifier: BSD-3-Clause */
/* host-directories.h - the step's private directories on this host, and the TMPDIR of its ranks
 *
 * One directory is in the job's TMPDIR, or in /tmp; it is the ranks' TMPDIR, or holds that and
 * files that mprun brought. A step with PMIx has a second one on /dev/shm: for shared memory, and
 * for the many small files of the PMI server and of MPIs. On a disk these files would take longer
 * than everything else at the start. This process locks both as long as it lives: other steps
 * remove directories that nobody locks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

struct launch;

struct host_directory {
    char path[128]; /* "": not made */
    int fd;         /* holds the lock; -1: none */
};

/* Other files only read it. All zero: no directory was made. */
struct host_directories {
    const struct launch *launch;
    const char *name;
    int keeper_fd;
    const char *job_tmpdir; /* the TMPDIR that the resource manager made for the job on this host;
                               NULL: none, ranks have the main directory */
    bool has_files;         /* that mprun brings: ranks, which may empty theirs, have `t` in the
                               main directory. Where it is on a disk a directory costs 0.1 ms,
                               more where many files were removed just now */
    struct host_directory main, memory;
};

/* Makes the directories, and tells the keeper of each. name: theirs (wire/host-directory.h). launch
 * and name must outlive d. -1 with err; *d still lists the directories that were made. */
int host_directories_make(struct host_directories *d, const struct launch *launch, const char *name,
                          bool has_files, int keeper_fd, struct error *err);
/* Makes the directory in TMPDIR, where ranks have the job's and it was not needed so far: on a disk
 * it can take a tenth of a step's time. Returns its path; NULL with err. */
const char *host_directories_main(struct host_directories *d, struct error *err);
void host_directories_free(struct host_directories *d); /* removes nothing */

/* Lists the paths of the directories that were made. Returns their number. */
enum { HOST_DIRECTORIES_MAX = 2 };
size_t host_directories_list(const struct host_directories *d,
                             const char *ret[HOST_DIRECTORIES_MAX]);
const char *host_directories_memory(const struct host_directories *d); /* for shared memory */
/* Removes directories beside these that killed steps of this user left behind. */
void host_directories_sweep(const struct host_directories *d);
