/* SPDX-License-Identifier: BSD-3-Clause */
/* tm-link.h - a connection to the pbs_mom of this host */
#pragma once

#include "common/error.h"
#include "common/loop.h"
#include "rm-adapters/pbs/tm-message.h"

struct tm_link;

struct tm_link_events {
    void (*answered)(void *arg, const struct tm_answer *answer);
    /* The link is broken: no answer will come. Both calls may close the link. */
    void (*closed)(void *arg, const struct error *why);
};

/* NULL with err: there is no pbs_mom. job and events outlive the link. */
struct tm_link *tm_link_open(struct loop *loop, const struct tm_job *job,
                             const struct tm_link_events *events, void *arg, struct error *err);
void tm_link_close(struct tm_link *l); /* NULL is fine */
/* Sends a finished request, and queues what pbs_mom does not take at once. 0, or -1 with err. */
int tm_link_send(struct tm_link *l, const struct buffer *request, struct error *err);

/* Asks one thing and waits for the answer, so many seconds at most. 0 with *ret, whose data is in
 * `messages`, which the caller frees; or -1 with err. */
int tm_ask(const struct tm_job *job, const struct buffer *request, double seconds,
           struct buffer *messages, struct tm_answer *ret, struct error *err);
