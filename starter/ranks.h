/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h - the ranks of one host: how each is started, and how its end is understood */
#ifndef STARTER_RANKS_H
#define STARTER_RANKS_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "containment/cgroup.h"
#include "model/outcome.h"
#include "model/rank-name.h"
#include "model/step.h"
#include "model/usage.h"

struct worker;

enum rank_state {
    RANK_WAITING,
    RANK_PLACING, /* its cgroup is being made */
    RANK_RUNNING,
    RANK_EXITED, /* reaped; mppmi is asked for what it knows of it */
    RANK_ENDED,  /* EXITED was sent */
};

struct rank {
    struct worker *worker;
    struct rank_name name;
    uint32_t local; /* index on this host */
    const struct app *app;
    enum rank_state state;
    pid_t pid; /* 0 when not running */
    struct cgroup_leaf *leaf;
    int io_fd; /* /proc/PID/io, opened at its start; -1 */
    int pmi_connected, pmi_finalized, aborted;
    int killed; /* it ended after our ladder began */
    int status;
    uint64_t start_ns, end_ns, oom_kills;
    double start_time;
    struct usage usage;
    char *bound_threads; /* what the kernel says; NULL when not bound */
};

struct ranks {
    struct rank *all;
    uint32_t n, next, running, ended, failed_starts;
    struct app_env *envs; /* per app; rank-exec.c */
    int watching_oom;
};

int ranks_create(struct worker *w, struct error *err);
void ranks_destroy(struct worker *w);
/* Start the next few; 1 while there are more to start. */
int ranks_start_some(struct worker *w);
/* No further starts: the others are reported as killed. */
void ranks_cancel_waiting(struct worker *w);
/* It was killed, and the kernel does not let it go: it is not waited for. */
void rank_give_up(struct rank *r);
struct rank *ranks_find(struct worker *w, struct rank_name name); /* NULL: not here */
/* What mppmi says: connected or finalized; that nothing more is known of an ended rank. */
void ranks_pmi_client(struct worker *w, struct rank_name name, int connected);
void ranks_pmi_gone(struct worker *w, struct rank_name name);
/* Final numbers of a rank, for REPORT. */
void rank_final_usage(struct rank *r);

/* rank-exec.c: the process of a rank: environment, descriptors, limits. pid or -1. */
struct spawn_failure;
int rank_has_terminal(const struct rank *r); /* it is given one: --pty */
int rank_exec_prepare(struct worker *w, struct error *err);
void rank_exec_free(struct worker *w);
pid_t rank_exec(struct rank *r, const int fds[3], struct spawn_failure *f, struct error *err);

#endif
