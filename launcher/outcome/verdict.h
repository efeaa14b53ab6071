/* SPDX-License-Identifier: BSD-3-Clause */
/* verdict.h - how the step ends: whether its ranks are to be ended, the exit code, and the sentence
 *
 * Other files record failures here; nothing is done at once. The step machine gets a turn soon,
 * takes the wish to end the ranks, and ends them on all hosts. */
#pragma once

#include <stdbool.h>

struct loop_defer;

struct verdict {
    int exit_code;   /* of mprun's own failure, of --timeout or of a signal; -1: the ranks' ends
                        decide */
    char text[1200]; /* the sentence that reports and users get; "": none */
    bool explained;  /* a failure has been explained, or is going to be */

    /* private to verdict.c */
    struct loop_defer *turn;
    bool ending, wished;
    double ending_time; /* of loop_now() */
    double grace;
    char why[1200];
};

/* turn: what gives the step machine a turn. */
void verdict_init(struct verdict *v, struct loop_defer *turn);

/* mprun itself has failed. Prints the first failure at once, takes its exit code for the step and
 * asks to end the ranks. Later failures of ranks are consequences, which mprun does not explain; so
 * is this one after a failure of a rank that has been explained. */
void verdict_fail(struct verdict *v, int exit_code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same; the caller gives verdict_explain() the sentence later. False: another failure was
 * first. */
bool verdict_fail_silently(struct verdict *v, int exit_code);

/* The caller wants to explain a failure. False: another failure has been explained, or is going to
 * be. */
bool verdict_claim_explanation(struct verdict *v);
/* The sentence that reports and users get. It is not printed here. */
void verdict_explain(struct verdict *v, const char *text);

/* Asks to end the ranks on all hosts: TERM, then KILL after `grace` seconds. grace < 0: takes
 * --kill-grace, and changes nothing if they are being ended. why: for hosts' logs. */
void verdict_end_ranks(struct verdict *v, double grace, const char *why);
/* The ranks are being ended, or are about to be. */
bool verdict_is_ending(const struct verdict *v);
double verdict_ending_seconds(const struct verdict *v); /* for how long; 0: they are not */
/* For the step machine: takes the wish to end the ranks. False: there is no new one. *ret_grace is
 * negative for --kill-grace; *ret_why lives until the next wish. */
bool verdict_take_wish(struct verdict *v, double *ret_grace, const char **ret_why);
