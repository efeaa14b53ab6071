/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel.h - a file JOB.TASK for each job that is in its cgroup here, for prologs to wait for
 *
 * It comes when the job's first process is in and its limits are set, and goes at its end. */
#pragma once

#include "common/error.h"

struct jobs;
struct job;

/* Have in the directory a file for each job that runs and has somebody in it, and no others. */
void sentinel_begin(int dir, struct jobs *jobs);
/* dir -1: nothing is done. */
void sentinel_put(int dir, const struct job *job);
void sentinel_remove(int dir, const struct job *job);
/* All files of jobs go: the directory is to be another one. */
void sentinel_clear(int dir);
