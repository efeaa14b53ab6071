/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks-private.h - the structs behind ranks.h, and what its files offer each other
 *
 * rank-restart.c uses ranks.c, which uses rank-process.c, which uses rank-exec.c. */
#pragma once

#include "common/processes/spawn.h"
#include "containment/step/tree.h"
#include "model/step.h"
#include "starter/ranks/ranks.h"
#include "starter/services.h"

enum rank_state {
    RANK_WAITING,
    RANK_RUNNING,
    RANK_EXITED, /* reaped; the PMI server was asked what it knows of the rank */
    RANK_ENDED,  /* mprun was told: EXITED */
    RANK_AGAIN,  /* failed; starts again when it has left no process behind */
};

struct rank {
    struct ranks *all;
    struct rank_name name;
    uint32_t local; /* index on this host */
    const struct app *app;
    enum rank_state state;
    pid_t pid; /* 0 when not running */
    struct cgroup_leaf *leaf;
    int io_fd; /* /proc/PID/io, opened at its start; -1 */
    bool pmi_connected, pmi_finalized;
    bool may_end;              /* another rank asked to end this one: its end is no failure */
    bool was_killed;           /* it ended after that, or after the step's end had begun */
    int status;                /* of waitpid() */
    uint64_t start_ns, end_ns; /* of the wall clock */
    double start_time;         /* loop_now() */
    double paused;             /* seconds since start_time in which it was suspended */
    struct usage usage;
    char *bound_threads;               /* what the kernel says; NULL when not bound */
    struct limits limits;              /* each with its held_by; none before its start */
    uint32_t over_limits;              /* bits 1 << kind: limits of which mprun was told */
    uint64_t looked[LIMIT_KIND_COUNT]; /* what it used at the last look */
    uint64_t amounts[AMOUNTS_READERS][LIMIT_KIND_COUNT]; /* of the last ranks_amounts() */
    char *limit_text; /* why it was killed for a limit that mprun holds, a sentence; NULL */
    char *limits_met; /* rank_limits_text(), or rank_hints_text(); NULL: none */
};

/* ---- rank-exec.c ----------------------------------------------------------------------------- */

void rank_programs_free(struct ranks *s);
/* Forks, and executes the rank's program. fds: its stdin, stdout, stderr. Returns the pid; -1 with
 * err and the exit code: 127 not found, 126 not executable, or mprun's own. */
pid_t rank_exec(struct rank *r, const int fds[3], int *ret_code, struct error *err);
bool rank_wants_stdin(const struct rank *r);
bool rank_has_terminal(const struct rank *r); /* --pty */

/* ---- rank-input.c ---------------------------------------------------------------------------- */

/* For a rank that reads a file of this host (--stdin file:PATH): closes *fd and puts the file
 * there. Does nothing for other ranks. Returns 0, or -1 with err. */
int rank_open_input(const struct rank *r, int *fd, struct error *err);

/* ---- rank-wrapper.c -------------------------------------------------------------------------- */

/* Copies word, and replaces %r by the rank, with the world before it where that is not 0, and %h by
 * the host. The caller frees it. */
char *rank_fill_in(const char *word, uint32_t world, const struct rank *r);
bool rank_is_wrapped(const struct rank *r); /* does --wrap hold for it? */
/* Returns the wrapper's words, with rank and host filled in, then the rank's words, with `program`
 * as the first unless it is NULL. The caller frees them by words_free(). */
char **rank_wrapped_argv(const struct rank *r, const char *program);

/* ---- rank-oom.c ------------------------------------------------------------------------------ */

/* Returns whether the kernel killed the rank for want of memory, or this process for a limit. Then
 * text names the limit. */
bool rank_oom_text(const struct rank *r, char *text, size_t n);
/* Returns whether the kernel ends processes with this signal for a limit that the rank has. Then
 * text says so. */
bool rank_limit_signal_text(const struct rank *r, int signo, char *text, size_t n);

/* ---- rank-limits.c --------------------------------------------------------------------------- */

/* Names the limits (ulimit) that may be the cause of a rank's failure, as the end of a sentence;
 * the caller frees it. NULL: none. zombie: the rank's pid, before it is reaped. */
char *rank_limits_text(const struct rank *r, pid_t zombie);

/* ---- rank-hints.c ---------------------------------------------------------------------------- */

/* Says what such an end (r->status) mostly means, in the same form; NULL: nothing in particular. */
char *rank_hints_text(const struct rank *r);

/* ---- rank-exec.c ----------------------------------------------------------------------------- */

/* Returns the hardware threads of its processes; NULL: the starter's. */
const struct idset *rank_affinity(const struct rank *r);

/* ---- ranks.c --------------------------------------------------------------------------------- */

/* Returns a rank of this host, in whatever incarnation: the PMI server does not know that. NULL: it
 * is not here. */
struct rank *ranks_find(const struct ranks *all, struct rank_name name);
bool ranks_have_pid(const struct ranks *all, pid_t pid); /* of a rank, not of what it has started */

/* ---- rank-process.c -------------------------------------------------------------------------- */

/* Makes the rank's cgroup, and starts the rank. Reports a failure as the rank's end. */
void rank_start(struct rank *r);
/* Reports the rank as not started. */
void rank_not_started(struct rank *r, int exit_code, const struct error *why);
/* Reports the rank as killed, without an exit status. */
void rank_end_killed(struct rank *r);
/* Kill the processes in the rank's cgroup; remove the cgroup. false: try again. */
bool rank_kill_leftovers(const struct rank *r);
bool rank_remove_leaf(struct rank *r);
void rank_free(struct rank *r); /* what it holds, but for its leaf; not itself */
/* Nothing more will be known of the rank: reports its end. */
void rank_end(struct rank *r);
/* Adds to the rank's usage what only its cgroup knows. */
void rank_read_cgroup_usage(struct rank *r);
