/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.h - answers the requests of clients */
#pragma once

#include "node-daemon/conf/conf.h"
#include "node-daemon/front/links/findings.h"
#include "node-daemon/front/jobs/jobs.h"

struct refine;

struct requests {
    struct start *start;
    struct reader_link *reader;
    struct jobs *jobs;
    struct refine *refine;
    const struct ground *ground;
    const struct conf *conf;
    int sentinels;   /* their directory; -1: none */
    double told;     /* when a refusal was last logged, by loop_now(): users are not to fill logs */
    unsigned untold; /* refusals since then */
    uint64_t failed; /* requests of users that failed */
};

struct client { /* a connected process, and the findings for its one request */
    int fd;     /* its connection */
    pid_t pid;
    uid_t uid; /* effective, when it connected */
    struct findings found;
};

/* Serve a request: returns a malloc'ed array of *ret_n answers. NULL: it cannot be answered yet;
 * call again when something about jobs is settled. request has the right size; the peer chose all
 * of its contents. */
struct grant_answer *requests_answer(struct requests *r, struct client *peer,
                                     const struct grant_request *request, size_t *ret_n);

/* The job of this name and owner, made if it is not there. NULL with err. */
struct job *requests_job(struct requests *r, enum grant_manager manager, const struct evidence *e,
                         struct error *err);

/* ---- bind.c ---------------------------------------------------------------------------------- */

/* The job that a request of root's names: "23.1", "23" for it, or a site's name. NULL: not here. */
struct job *bind_find(struct jobs *j, const struct grant_request *q);
/* Give it what the request says. What the kernel cannot do, or a job has used already, may be left
 * half done: 0, or -1 with err. GRANT_BIND_TRY: 0, with what is not held in ret_left; else that is
 * "". own: what the manager's own daemon may use here, for GRANT_BIND_UNLIMIT. */
int bind_limits(struct jobs *j, const struct conf *c, const struct limit *own, struct job *job,
                const struct grant_request *q, struct error *ret_left, struct error *err);
/* Describe the job that is to be made: its full name and manager, and uid and limits as far as
 * its manager or the request says; uid 0: nobody does. 1: its manager has written of it here; 0:
 * it has not; -1 with err; BIND_NOT_YET. */
enum { BIND_NOT_YET = 2 };
int bind_describe(struct findings *found, const struct conf *c, const struct grant_request *q,
                  struct evidence *ret, enum grant_manager *ret_manager, struct error *err);
