/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - how long containment waits, how often it tries, how much it does at once, and why */
#pragma once

/* ---- killing -------------------------------------------------------------------------------- */

enum {
    /* A v1 freezer can stay in FREEZING until the next request: milliseconds between two requests,
     * and number of requests before processes are killed unfrozen. */
    POLICY_FREEZE_PAUSE_MS = 10,
    POLICY_FREEZE_TRIES = 20,
    /* Milliseconds between two rounds of killing: doubled from the first, because nearly all
     * processes go at once, up to the last, because a process in state D can stay for long. */
    POLICY_KILL_PAUSE_FIRST_MS = 1,
    POLICY_KILL_PAUSE_LAST_MS = 50,
    /* Rounds of cgroup.kill, some 30 ms in all, before the processes left are killed by pid. */
    POLICY_KILL_BY_FILE_ROUNDS = 5,
    /* Processes killed at a time, each with an open descriptor; the usual limit is 1,024. */
    POLICY_KILL_BATCH = 128,
};

/* ---- hearing of changes --------------------------------------------------------------------- */

/* v1 has no event for a cgroup that has become empty (its release agent is one program for the
 * whole machine). Seconds between two looks, doubled from the first to the last; also for v2 if no
 * watch can be made. */
#define POLICY_EMPTY_FIRST_S 0.001
#define POLICY_EMPTY_LAST_S  0.064

/* ---- steps whose owner is gone -------------------------------------------------------------- */

enum {
    /* Seconds of age from which on a cgroup without a lock counts as left behind: its owner makes
     * it a moment before locking it. */
    POLICY_STALE_AGE_S = 30,
    /* Milliseconds that a new step waits for its processes to end; the next step tries again. */
    POLICY_STALE_WAIT_MS = 50,
};

/* ---- others that are asked ------------------------------------------------------------------- */

/* Seconds after which a silent systemd is done without: it moves processes within some ms, and when
 * busy (a reload) within a second or two. */
#define POLICY_SYSTEMD_S 10.0

/* Seconds for mprund to hold a rank to its GPUs, which takes it a millisecond: the starter waits,
 * and does nothing else meanwhile. */
#define POLICY_DEVICES_S 1.0

/* ---- bounds --------------------------------------------------------------------------------- */

enum {
    /* Levels of cgroups below each other that mprun walks: a rank can make cgroups in its own, as
     * deep as it likes; mprun's are three deep. */
    POLICY_WALK_DEPTH = 64,
};
