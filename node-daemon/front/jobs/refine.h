/* SPDX-License-Identifier: BSD-3-Clause */
/* refine.h - finds out a job's demand after its cgroup was made
 *
 * On the host of the job's script Grid Engine is asked, twice more where it does not answer; the
 * job goes on meanwhile with what its execd wrote. When the answer holds it stays with the job's
 * cgroup (an extended attribute), so that a daemon that is started again need not ask, unless it
 * ended before that. Other hosts' jobs come with a grant (token.h). */
#pragma once

#include "node-daemon/front/links/ask-reader.h"
#include "node-daemon/front/jobs/jobs.h"
#include "node-daemon/lib/evidence.h"

struct refine { /* refine.c's */
    struct jobs *jobs;
    const struct conf *conf;
    struct reader_link *reader;
    void (*settled)(void *arg);
    void *arg;
    struct loop_timer soon;  /* for settled: answers no client while another one is being served */
    struct loop_timer later; /* while there are jobs to ask about again */
};

/* The loop calls settled when a job's demand is known, or will not be for a while: the clients that
 * wait for it can be answered. */
void refine_init(struct refine *r, struct loop *l, struct jobs *jobs, struct reader_link *reader,
                 const struct conf *conf, void (*settled)(void *arg), void *arg);
void refine_stop(struct refine *r); /* zero is fine */
/* A job's cgroup was made for what e says: find out what it asks for, where that is not in e. */
void refine_made(struct refine *r, struct job *job, const struct evidence *e);
/* The daemon begins, or there is another reader: find out what nobody has found out so far. */
void refine_resume(struct refine *r);
/* Somebody asks about a job that is there: find out, unless that is known or was tried. */
void refine_begin(struct refine *r, struct job *job, const struct evidence *e);
/* A job that root bound has not come yet: ask whether it still will, and end it if its manager says
 * that there is no such job. */
void refine_awaited(struct refine *r, struct job *job);
/* Learn what e knows of a job that was made without it. */
void refine_learn(struct refine *r, struct job *job, const struct evidence *e);
