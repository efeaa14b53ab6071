/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-environment.h - the environment variables of ranks
 *
 * The user's environment as exact bytes, without what describes another launch; then what the
 * resource manager gave this host, what the PMI server says, and mprun's own variables. All but the
 * last are put together once for each program. */
#pragma once

#include <stdint.h>

#include "model/rank-name.h"

struct app;
struct host_directories;
struct launch;
struct preload;
struct rank_environment;

struct rank_host { /* what the environments of all programs on this host have in common */
    const struct launch *launch;
    const struct host_directories *directories;
    const struct preload *preload; /* NULL: no files were brought */
    const char *gpus;              /* the job's own here, "0,1"; "": nobody says so */
    char *const *pmi_env;          /* of the PMI server, NULL-terminated; NULL: no PMI */
};

/* For the ranks of this app; app and host must live as long. NULL: no memory. */
struct rank_environment *rank_environment_create(const struct app *app,
                                                 const struct rank_host *host);
void rank_environment_destroy(struct rank_environment *e); /* NULL is fine */
/* The environment of one rank, NULL-terminated; valid until the next call. local: the rank's index
 * on this host. pmi1_fd: its connection to the PMI server; -1: none. */
char *const *rank_environment_of(struct rank_environment *e, struct rank_name name, uint32_t local,
                                 int pmi1_fd);
