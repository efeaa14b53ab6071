/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - how long containment waits, how often it tries, how much it does at once, and why */
#pragma once

/* ---- killing -------------------------------------------------------------------------------- */

enum {
    /* A v1 freezer can stay in FREEZING until it is told again: milliseconds between two requests,
     * and how many there are before processes are killed as they are. */
    POLICY_FREEZE_PAUSE_MS = 10,
    POLICY_FREEZE_TRIES = 20,
    /* Milliseconds between two rounds of killing: doubled from the first, because nearly all
     * processes go at once, up to the last, because a process in state D can stay for long. */
    POLICY_KILL_PAUSE_FIRST_MS = 1,
    POLICY_KILL_PAUSE_LAST_MS = 50,
    /* Rounds of cgroup.kill, some 30 ms, until each that is left is killed by its number. */
    POLICY_KILL_BY_FILE_ROUNDS = 5,
    /* Processes that are killed at a time, each with a descriptor open: far below the usual limit
     * of 1,024. */
    POLICY_KILL_BATCH = 128,
};

/* ---- hearing of changes --------------------------------------------------------------------- */

/* v1 has no event for a cgroup that has become empty (its release agent is one program for the
 * whole machine). Seconds between two looks, doubled from the first to the last; v2 without a watch
 * to be had is treated alike. */
#define POLICY_EMPTY_FIRST_S 0.001
#define POLICY_EMPTY_LAST_S  0.064

/* ---- steps whose owner is gone -------------------------------------------------------------- */

enum {
    /* Seconds that a cgroup must have been there: it is made a moment before it is locked. */
    POLICY_STALE_AGE_S = 30,
    /* Milliseconds that a new step waits for its processes to go: what stays, the next one tries.
     */
    POLICY_STALE_WAIT_MS = 50,
};

/* ---- others that are asked ------------------------------------------------------------------- */

/* Seconds until a systemd that says nothing is done without: it moves processes within some ms,
 * and when it is busy (a reload) within a second or two. */
#define POLICY_SYSTEMD_S 10.0

/* Seconds for an mprund that is to hold a rank to its GPUs, which takes it a millisecond: the starter
 * waits, and serves nobody meanwhile. */
#define POLICY_DEVICES_S 1.0

/* ---- bounds --------------------------------------------------------------------------------- */

enum {
    /* Levels of cgroups that are walked: a rank can make cgroups in its own, as deep as it likes;
     * mprun's are three deep. */
    POLICY_WALK_DEPTH = 64,
};
