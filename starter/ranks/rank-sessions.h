/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-sessions.h - sessions that ranks make for themselves, for a manager that counts by sessions
 *
 * Such a manager counts, limits and ends the processes of a task's session. A rank that calls
 * setsid() leaves it, and nothing tells of that: the processes below this one are looked at now and
 * then, often in the beginning and rarely later. The manager counts a session of which it knows. */
#pragma once

#include "common/loop.h"
#include "common/proc.h"

struct rank_sessions { /* private to rank-sessions.c */
    struct loop_timer timer;
    double period; /* seconds until the next look */
    struct pid_list known;
};

/* Looks from now on, where the manager counts by sessions. */
void rank_sessions_init(struct rank_sessions *s, struct loop *loop);
void rank_sessions_stop(struct rank_sessions *s);
/* This process has a session of its own from its beginning. */
void rank_sessions_add(struct rank_sessions *s, pid_t pid);
