/* SPDX-License-Identifier: BSD-3-Clause */
/* socket-directory.h - the directory of the step's sockets: made, locked, removed
 *
 * Starters of this machine, and other steps of the user, find the sockets in it. */
#pragma once

#include <stddef.h>

#include "common/error.h"

struct socket_directory {
    char path[256]; /* "" before it is made */
    size_t place;   /* letters of path before "/mprun-STEP" */
    int fd;         /* holds the lock on it */
};

/* Beneath XDG_RUNTIME_DIR, TMPDIR, /dev/shm or /tmp, for this user only. A job's TMPDIR goes with
 * the job, also if mprun is killed; a new file on a disk costs 0.1 ms more than one on /dev/shm. -1
 * with err. */
int socket_directory_make(struct socket_directory *d, const char *step_id, struct error *err);
/* Removes it, if it was made, and those beside it whose mprun was killed before a starter of this
 * machine knew of it. */
void socket_directory_remove(struct socket_directory *d);
/* Calls fn for the directories of this user's other steps beside it. */
void socket_directory_others(const struct socket_directory *d,
                             void (*fn)(void *arg, const char *path), void *arg);
