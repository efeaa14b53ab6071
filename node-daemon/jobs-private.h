/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs-private.h - what the files about jobs know of each other */
#ifndef NODE_DAEMON_JOBS_PRIVATE_H
#define NODE_DAEMON_JOBS_PRIVATE_H

#include "node-daemon/jobs.h"

struct jobs {
    struct loop *loop;
    const struct ground *ground;
    const struct conf *conf;
    struct jobs_watch watch;
    struct job **job;
    size_t n, cap;
    struct loop_timer *check;
    struct watches *watches; /* NULL: none to be had; the timer does it later */
};

enum {
    JOB_NONCE = 8,
    MODE_ENDED = 0700,
    MODE_WHOLE = 0755,
    MODE_BOUND = 0751,
    MODE_AWAITED = 0750
};

/* jobs-scan.c: names of directories, and finding them again */
const char *job_manager_word(enum grant_manager m); /* "ge" */
void job_dir_name(struct job *job);                 /* a new one, with a nonce */
/* "ge-23.1-0a1b2c3d": 0, or -1: not one of ours */
int job_parse_dir(const char *dir, struct job *ret);
int jobs_add(struct jobs *j, struct job *job); /* takes job */
/* Look again as soon as nobody is in it any more. */
void jobs_watch_empty(struct jobs *j, struct job *job);
void jobs_forget(struct jobs *j, struct job *job);
int jobs_scan(struct jobs *j, struct error *err);

/* job-end.c */
/* Directories of a job that are in some hierarchy but not in that which tracks. */
void job_end_stray(struct jobs *j, size_t part, const char *dir);

#endif
