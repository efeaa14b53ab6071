/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-environment.h - the environment variables of ranks
 *
 * The user's environment as exact bytes, without what describes another launch; then what the
 * resource manager gave this host, what the PMI server says, and mprun's own variables. All but the
 * last are put together once for each program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/rank-name.h"

enum { RANK_VARIABLE_SIZE = 704 }; /* bytes of a variable of mprun's own */

struct rank_environment { /* private to rank-environment.c */
    const struct app *app;
    const struct starter_services *with;
    char **envp; /* what all ranks of the app share, then room for our own, then NULL */
    size_t nshared;
    char (*own)[RANK_VARIABLE_SIZE]; /* those of the rank that was asked for last */
    char *library_path;              /* with libraries that were brought here; NULL: the user's */
};

/* For the ranks of this app; app must live as long. */
void rank_environment_init(struct rank_environment *e, const struct app *app,
                           const struct starter_services *with);
void rank_environment_free(struct rank_environment *e); /* as zero it is fine */
/* The environment of one rank, NULL-terminated; valid until the next call. local: the rank's index
 * on this host. pmi_fd: its connection to the PMI server; -1: none. */
char *const *rank_environment_of(struct rank_environment *e, struct rank_name name, uint32_t local,
                                 int pmi_fd);
