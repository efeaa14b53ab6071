/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-environment.h - the environment variables of ranks
 *
 * A rank gets the user's environment as exact bytes, without variables of another launch; then what
 * the resource manager gave this host, what the PMI server says, and mprun's own variables. Only
 * mprun's own are made for each rank; the rest is put together once for each program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/rank-name.h"
#include "rm-adapters/starter-side/task-lists.h"

enum { RANK_VARIABLE_SIZE = 704 }; /* bytes of a variable of mprun's own */

struct rank_environment { /* private to rank-environment.c */
    const struct app *app;
    const struct starter_services *with;
    char **envp; /* the variables that all ranks of the app share, room for our own, NULL */
    size_t nshared;
    char (*own)[RANK_VARIABLE_SIZE];  /* mprun's own, of the rank in the last call */
    char *library_path;               /* with libraries that were brought here; NULL: the user's */
    char *task_lists[TASK_LISTS + 1]; /* with slurm_variables, else none; part of envp */
};

/* Prepares for the ranks of this app; app must outlive e. */
void rank_environment_init(struct rank_environment *e, const struct app *app,
                           const struct starter_services *with);
void rank_environment_free(struct rank_environment *e); /* all zero is fine */
/* Returns the environment of one rank, NULL-terminated; valid until the next call. local: the
 * rank's index on this host. pmi_fd: its connection to the PMI server; -1: none. */
char *const *rank_environment_of(struct rank_environment *e, struct rank_name name, uint32_t local,
                                 int pmi_fd);
