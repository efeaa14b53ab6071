/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup-fixture.h - a step's cgroups on this very machine, for tests that need real ones
 *
 * Where this process may write to no cgroup the tests skip. Every test leaves nothing behind, and
 * that is asserted. */
#pragma once

#include "containment/step/tree-private.h"

struct fixture {
    struct loop *loop;
    struct cgroup_tree *tree; /* NULL: no place, and err says why */
    struct limits host;       /* as asked for, then as held */
    enum tracking level;
    unsigned v2_controllers;
    size_t nmovers;
    struct error err;
    char step[40];
    int flag; /* set by fixture_flag() */
};

/* A tree in our own cgroup; skips the test when there is none to be had. host may be NULL. */
void fixture_open(struct fixture *f, enum tracking level, const struct limits *host);
/* The same, but returns -1 instead of skipping; self: as for cgroup_parents_own(). */
int fixture_try(struct fixture *f, enum tracking level, const struct limits *host,
                const pid_t *self, size_t nself);
/* Kill and remove everything, and assert that it is gone. */
void fixture_close(struct fixture *f);
/* After fixture_close(), which has killed the process, and may have reaped it: it leaves its cgroup
 * a moment before it can be reaped. */
void fixture_assert_dead(pid_t pid);

struct cgroup_leaf *fixture_leaf(struct fixture *f, unsigned rank, const struct limits *limits);
/* A process that is in the leaf when this returns, calls fn, and exits with what it returns. */
pid_t fixture_start(struct cgroup_leaf *leaf, int (*fn)(void *arg), void *arg);
int fixture_wait(pid_t pid); /* status, as from waitpid(); fails the test after 30 s */

void fixture_flag(void *arg); /* sets f->flag and stops the loop; arg: struct fixture */
/* Run the loop until the flag is set: 1, or 0 when the time is over. */
int fixture_run(struct fixture *f, double seconds);

/* Common fn's. */
int sleep_forever(void *arg);
/* Memory that all processes see, of n bytes, zero; free with munmap. */
void *shared_memory(size_t n);
int path_exists(const char *path);
int in_virtual_machine(void); /* tests of limits run only there */
