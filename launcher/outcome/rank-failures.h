/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-failures.h - finds the rank whose failure ends the step: mprun reports it once and takes its
 * exit code */
#pragma once

#include <stdbool.h>

#include "common/loop.h"
#include "launcher/step/step-plan.h"
#include "model/rank-end.h"

struct step_record;
struct verdict;

struct rank_failures { /* private to rank-failures.c */
    const struct step_plan *plan;
    struct step_record *record;
    struct verdict *verdict;
    struct loop_timer timer; /* runs until mprun reports the first failure */
    struct rank_end *all;    /* failures that count, in order of arrival */
    size_t n, cap;
    bool init_called;     /* some rank has called MPI_Init */
    struct rank_end lone; /* with END_NO_INIT: the first that ended well without it */
    bool has_lost;
    struct rank_end lost; /* the first rank that failed while the step went on */
    bool reader_left;
};

void rank_failures_init(struct rank_failures *f, struct loop *loop, const struct step_plan *plan,
                        struct step_record *record, struct verdict *verdict);
void rank_failures_free(struct rank_failures *f); /* what it holds, not itself; zero is fine */

/* A rank has ended, as the record says. counts: false for a rank that we have killed. */
void rank_failures_ended(struct rank_failures *f, const struct rank_end *end, bool counts);
/* The rank, which has ended so, is to be started again (--max-restarts): then this is said. False:
 * it has not failed, it has been started often enough, or it has called MPI_Init: an MPI library
 * takes no rank back, and a rank that calls it again waits for ever. */
bool rank_failures_restart(const struct rank_failures *f, const struct rank_end *end,
                           bool has_called_init);
/* others: so many other ranks are to end for it, and the step goes on; 0: the step ends. */
void rank_failures_aborted(struct rank_failures *f, struct rank_name name, uint32_t host, int code,
                           size_t others);
/* A rank has ended well and has not called MPI_Init; some rank has called it. MPI_Init waits for
 * every rank, so both together make a failure of the first, in whichever order they come. */
void rank_failures_ended_without_init(struct rank_failures *f, const struct rank_end *end);
void rank_failures_init_called(struct rank_failures *f);
/* The reader of mprun's output has closed it: do not report a rank that dies of that. */
void rank_failures_reader_left(struct rank_failures *f);

/* Writes how the rank has ended, without the consequences, to to[n]. */
void rank_failures_describe(const struct rank_failures *f, const struct rank_end *end, char *to,
                            size_t n);
/* The step goes on without this rank: prints the text. The first one gives the exit code if no
 * failure ends the step. */
void rank_failures_lose(struct rank_failures *f, const struct rank_end *end, const char *text);
/* Reports the first failure, if there is one and mprun has not reported it. */
void rank_failures_explain(struct rank_failures *f);
const struct rank_end *rank_failures_first(const struct rank_failures *f); /* NULL: none */
