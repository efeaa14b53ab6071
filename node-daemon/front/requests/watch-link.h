/* SPDX-License-Identifier: BSD-3-Clause */
/* watch-link.h - front's link to watch */
#pragma once

#include "node-daemon/front/requests/requests.h"

enum { WATCH_GROUPS = 4096 };

/* The group of a task. Grid Engine gives it to another task when the job has ended. */
struct watch_group {
    char job[GRANT_JOB_MAX];
    gid_t group;  /* 0: free */
    uid_t uid;    /* of its job, once that has ended */
    double ended; /* 0: it has not */
};

struct watch_link {    /* watch-link.c's */
    struct loop *loop; /* NULL: it is not there yet */
    struct start *start;
    struct requests *r;
    int fd;         /* -1: watch has died */
    unsigned links; /* so far */
    bool hangs;     /* it has read nothing for a while */
    struct loop_io *io;
    size_t claims;
    struct loop_timer look; /* for what is left of jobs that have ended */
    double looked;
    struct watch_group group[WATCH_GROUPS];
    size_t replaced; /* entries of jobs that had not ended */
};

/* start, r and what it names must outlive it. */
void watch_link_init(struct watch_link *w, struct loop *l, struct start *start, struct requests *r);
void watch_link_close(struct watch_link *w); /* zero is fine */
/* There may be another link in start: use it. */
void watch_link_renew(struct watch_link *w);
/* The reader has heard of this process of a manager's. */
void watch_link_consider(struct watch_link *w, pid_t pid);
/* A task of this job has this group; 0: it is not known. */
void watch_link_note(struct watch_link *w, const char *job, gid_t group);
/* Find now the processes that have the group of a task of this job, and are in no job's cgroup. */
void watch_link_ended(struct watch_link *w, const struct job *job);
/* Events were lost: have watch look at everything. */
void watch_link_look(struct watch_link *w);
/* Ask watch which processes are in this part of a stuck job, and what they wait for;
 * jobs_take_stuck() gets the answer later. */
void watch_link_stuck(struct watch_link *w, const struct job *job, size_t part);
