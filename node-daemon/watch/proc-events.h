/* SPDX-License-Identifier: BSD-3-Clause */
/* proc-events.h - gets every exec on this host from the kernel's process connector
 *
 * It answers root in the initial network (and process) namespace only, and drops events that are
 * not read in time: events say where to look, and some may be missing. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/loop.h"

enum proc_event_kind { PROC_OTHER, PROC_EXEC, PROC_ANSWER };

struct proc_event_seen {
    enum proc_event_kind kind;
    pid_t pid; /* of PROC_EXEC: the process, not its thread */
    int error; /* of PROC_ANSWER: to the wish to hear; 0 or an errno */
};

/* The next message of a datagram of n bytes, from *at on, which is moved behind it. 1, or 0: there
 * is none, or it is cut off. Pure. */
int proc_event_next(const void *datagram, size_t n, size_t *at, struct proc_event_seen *ret);

struct proc_events;
struct proc_events_calls {
    void (*exec)(void *arg, pid_t pid); /* a number: the process may have ended */
    void (*lost)(void *arg);            /* execs were not heard of */
};
/* Begin to hear; the kernel keeps queue_bytes of what is not read yet (an exec takes some 800).
 * That it does not answer, as it does not everywhere, is logged. NULL with err: ECONNREFUSED,
 * another network namespace; ENOTSUP, another process namespace; EPERM. */
struct proc_events *proc_events_create(struct loop *l, size_t queue_bytes,
                                       const struct proc_events_calls *calls, void *arg,
                                       struct error *err);
void proc_events_destroy(struct proc_events *p); /* NULL is fine */
