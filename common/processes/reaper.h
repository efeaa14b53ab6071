/* SPDX-License-Identifier: BSD-3-Clause */
/* reaper.h - the only place where a program waits for its children
 *
 * A program calls reaper_collect() when SIGCHLD arrives. Children that were added are reported to
 * their callback while they are still zombies (so /proc/PID is readable and the pid is not reused)
 * and reaped right after it. Children that were not added, such as orphans that a child subreaper
 * inherits, go to the orphan callback. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

struct reaper;

/* status is as from waitpid(); usage is the child's own and that of its waited-for children. */
typedef void (*reaper_fn)(void *arg, pid_t pid, int status, const struct rusage *usage);

struct reaper *reaper_create(reaper_fn orphan, void *arg); /* orphan may be NULL */
void reaper_destroy(struct reaper *r);
/* Call fn when the child has ended. To be called in the same turn of the loop as the fork. */
void reaper_add(struct reaper *r, pid_t pid, reaper_fn fn, void *arg);
void reaper_remove(struct reaper *r, pid_t pid); /* it counts as an orphan then */
/* Report and reap every child that has ended. */
void reaper_collect(struct reaper *r);
