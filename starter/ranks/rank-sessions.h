/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-sessions.h - sessions that ranks make for themselves, for a manager that counts by sessions
 *
 * Such a manager counts, limits and ends the processes of a task's session. A rank that calls
 * setsid() leaves the session, and no event tells of it. So this module looks at the processes
 * below this one, often in the beginning and rarely later, and tells the manager of new ones. */
#pragma once

#include "common/loop.h"
#include "common/processes/proc.h"

struct rank_sessions { /* private to rank-sessions.c */
    struct loop_timer timer;
    double period; /* seconds until the next look */
    struct pid_list known;
};

/* Starts to look, if the manager counts by sessions. */
void rank_sessions_init(struct rank_sessions *s, struct loop *loop);
void rank_sessions_stop(struct rank_sessions *s);
/* Tells the manager of this process, which has a session of its own from its beginning. */
void rank_sessions_add(struct rank_sessions *s, pid_t pid);
