/* SPDX-License-Identifier: BSD-3-Clause */
/* host-failures.h - reports failed hosts: one sentence for hosts that fail at about the same
 * time */
#pragma once

#include <stdbool.h>

#include "common/loop.h"
#include "launcher/hosts/host-table.h"

struct verdict;

struct host_failures { /* private to host-failures.c */
    const struct host_table *hosts;
    struct verdict *verdict;
    struct loop_timer timer; /* runs while others may fail with the first */
    bool is_due;  /* the timer has fired; the sentence follows once pending events are handled */
    double until; /* loop_now(): the sentence waits no longer */
    struct host *first;
    const struct host *said; /* a host that has reported its failure itself */
    char text[900];          /* of the first */
    bool keeper_died;        /* the text says no more than that */
    bool *listed;            /* by launch_index: in the sentence */
};

void host_failures_init(struct host_failures *f, struct loop *loop, const struct host_table *t,
                        struct verdict *verdict);
void host_failures_free(struct host_failures *f); /* what it holds, not itself; zero is fine */

/* The step ends because of this host, unless mprun itself has ended that. The text goes behind the
 * host's name; the host may be found to be behind another one that has failed. silent: it gives no
 * answer any more, or may still say itself why it has failed. exit_code: of the step. */
void host_failures_add(struct host_failures *f, struct host *h, bool silent, int exit_code,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The host's worker has seen its keeper die: the text, unless the end of the start client tells
 * more before mprun prints it. */
void host_failures_keeper_died(struct host_failures *f, struct host *h, int exit_code,
                               const char *text);
/* Is it this host of which nothing better is known yet than that its keeper has died? */
bool host_failures_awaits(const struct host_failures *f, const struct host *h);
/* The host's starter has written its reason to mprun's standard error: mprun adds nothing, unless
 * other hosts fail with it. */
void host_failures_was_said(struct host_failures *f, const struct host *h);
/* The host has sent its own reason before mprun printed one: replaces mprun's guess. False: the
 * sentence is about another host. */
bool host_failures_correct(struct host_failures *f, const struct host *h, int exit_code,
                           const char *text);
/* Prints the sentence that waits for the timer, if there is one, and does not wait for the end of a
 * start client, too. */
void host_failures_say(struct host_failures *f);
/* All start clients have ended: prints the sentence that waits, if there is one. */
void host_failures_finish(struct host_failures *f);

/* Is this host's end a consequence, which mprun does not report? mprun has cancelled its start,
 * told it over its side link to end, or lost the host above. */
bool host_failures_is_consequence(const struct host_failures *f, const struct host *h);
