/* SPDX-License-Identifier: BSD-3-Clause */
/* step-directory.h - finding the directories of steps, and of their hosts, in places that others
 * can write, and removing those whose owner is gone
 *
 * A step's directory is called "mprun-" and the step's id; a host's is called "mprun-", as many
 * unforeseeable letters, a dot and the host's number. The process that makes one holds a lock on
 * it, which the kernel releases however that process ends; so a directory that is not locked, and
 * was not made just now, has no owner. A step looks at the first entries of a place only: in a
 * directory of a hundred thousand files a whole look would take longer than the step does. */
#pragma once

#include <stdbool.h>

#define STEP_DIRECTORY "mprun-"
/* Letters of ids, and of the names of hosts' directories: 5 bits each. */
#define STEP_ID_LETTERS "abcdefghijklmnopqrstuvwxyz234567"

enum { STEP_ID_LENGTH = 12 }; /* letters of an id */

enum step_directory_of { DIRECTORY_OF_STEP, DIRECTORY_OF_HOST };

/* Own the directory for as long as the descriptor is open. Where the file system has no locks,
 * nothing is swept. */
void step_directory_lock(int fd);
/* Call fn for each directory of this kind in `place`; `dir` is that place, opened. id: any step's,
 * for its length. whole: else only the first entries are looked at. Finds nothing on a file system
 * where other machines may not see a lock. */
void step_directories(const char *place, const char *id, enum step_directory_of of, bool whole,
                      void (*fn)(void *arg, int dir, const char *place, const char *name),
                      void *arg);
/* Is the directory of this name in `dir` this user's alone, and does its owner live? */
bool step_directory_is_own(int dir, const char *name);
/* Remove this user's directories that have no owner. */
void step_directories_sweep(const char *place, const char *id, enum step_directory_of of);
