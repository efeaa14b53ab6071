/* SPDX-License-Identifier: BSD-3-Clause */
/* step-directory.h - directories of steps, and of their hosts, in places that others can write:
 * which ones are there, and which of them belong to nobody any more
 *
 * They are called "mprun-" and the step's id, those of a host "mprun-", as many letters that nobody
 * can foresee, a dot and its number. Who makes one holds a lock on it, which the kernel gives back
 * however it ends; so one that is not locked, and was not made just now, belongs to nobody. Only
 * the first entries of a place are looked at: in a directory of a hundred thousand files a whole
 * look would take longer than a step does. */
#ifndef COMMON_STEP_DIRECTORY_H
#define COMMON_STEP_DIRECTORY_H

#define STEP_DIRECTORY "mprun-"
/* Of ids, and of what hosts' directories are called instead: 5 bits each. */
#define STEP_ID_LETTERS "abcdefghijklmnopqrstuvwxyz234567"

enum step_directory_of { DIRECTORY_OF_STEP, DIRECTORY_OF_HOST };

/* As long as the descriptor is open. Where there are no locks nothing is swept. */
void step_directory_lock(int fd);
/* fn is called for each that is in `place`; `dir` is that place, opened. id: any step's, for its
 * length. Nothing is found where a lock may not be seen by other machines. */
void step_directories(const char *place, const char *id, enum step_directory_of of,
                      void (*fn)(void *arg, int dir, const char *place, const char *name),
                      void *arg);
/* Whether the one of this name in `dir` is this user's and belongs to nobody. */
int step_directory_is_stale(int dir, const char *name);
/* Remove those of this user that belong to nobody. */
void step_directories_sweep(const char *place, const char *id, enum step_directory_of of);

#endif
