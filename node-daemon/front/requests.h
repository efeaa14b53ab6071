/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.h - what is answered to whom */
#pragma once

#include "node-daemon/front/findings.h"
#include "node-daemon/front/jobs.h"

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
    uint64_t failed; /* what users asked for and could not be done */
};

struct client { /* who asks, and what was found out for its one request */
    int fd;     /* its connection */
    pid_t pid;
    uid_t uid; /* effective, when it connected */
    struct findings found;
};

/* An answer of this result; text may be NULL. */
void answer_init(struct grant_answer *a, enum grant_result result, const char *text);
/* Do what is asked: a malloc'ed array of answers, *ret_n of them. NULL: out of memory, or *ret_n is
 * 0 and it cannot be answered yet: ask again when something about jobs is settled. request is of
 * the right size, but anything else about it is the peer's choice. */
struct grant_answer *requests_answer(struct requests *r, struct client *peer,
                                     const struct grant_request *request, size_t *ret_n);

/* The job of this name and owner, made if it is not there. NULL with err. */
struct job *requests_job(struct requests *r, enum grant_manager manager, const struct evidence *e,
                         struct error *err);
