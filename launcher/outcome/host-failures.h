/* SPDX-License-Identifier: BSD-3-Clause */
/* host-failures.h - hosts that fail: one sentence for those that do at about the same time */
#pragma once

#include <stdbool.h>

#include "common/loop.h"
#include "launcher/hosts/host-table.h"

struct verdict;

struct host_failures { /* private to host-failures.c */
    const struct host_table *hosts;
    struct verdict *verdict;
    struct loop_timer timer; /* runs while others may fail with the first */
    bool is_due;             /* the time is over; what has happened meanwhile is looked at first */
    double until;            /* loop_now(): the sentence waits no longer */
    struct host *first;
    const struct host *said; /* by itself */
    char text[900];          /* of the first */
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
/* Its starter has written to mprun's standard error why it ends: unless others fail with it,
 * nothing is to be added. */
void host_failures_was_said(struct host_failures *f, const struct host *h);
/* The host says itself why it has failed, before that was said: it knows best. False: it is not the
 * one that is going to be named. */
bool host_failures_correct(struct host_failures *f, const struct host *h, int exit_code,
                           const char *text);
/* Says what waits to be said. */
void host_failures_say(struct host_failures *f);

/* Its end is a consequence, which is told to nobody: mprun has cancelled its start, or told it on a
 * link of its own to end, or has lost the host above. */
bool host_failures_is_consequence(const struct host_failures *f, const struct host *h);
