/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel.h - a file JOB.TASK for each job that is in its cgroup here, for prologs to wait for
 *
 * It comes when the job's first process is in and its limits are set, and goes when the job ends.
 */
#pragma once

#include "common/error.h"

struct jobs;
struct job;

/* The directory, made where it is missing (0755); it must be root's (or the caller's) and writable
 * to nobody else. A descriptor, or -1 with err. */
int sentinel_open(const char *dir, struct error *err);
/* dir -1: nothing is done. */
void sentinel_put(int dir, const struct job *job);
void sentinel_remove(int dir, const struct job *job);
/* All files of jobs go: the directory is to be another one. */
void sentinel_clear(int dir);
/* As the jobs are now: a file for each that runs and has somebody in it, and no others. */
void sentinel_sync(int dir, struct jobs *jobs);
