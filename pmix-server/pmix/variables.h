/* SPDX-License-Identifier: BSD-3-Clause */
/* variables.h - the variables that a world's ranks get of the PMIx library, and those that they
 * were given before it ran (starter/pmi/pmix-variables.h) */
#pragma once

#include "common/error.h"

/* Returns the variables that all ranks of a world get. env: what the library sets for one of them
 * (PMIx_server_setup_fork(); NULL: nothing); the one that differs from rank to rank is left out,
 * and what Open MPI needs is added. The list is NULL-terminated and borrows its texts; the caller
 * frees it. */
const char **variables_of_ranks(char *const env[]);
/* Ranks have got `given`, where the library says `real` (both NULL-terminated). -1 with err: they
 * differ. */
int variables_compare(char *const given[], const char *const real[], struct error *err);
/* mppmi --variables: start the library and write what starter/pmi/pmix-variables.c fills in. The
 * exit code. */
int variables_print(void);
