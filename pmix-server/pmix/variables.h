/* SPDX-License-Identifier: BSD-3-Clause */
/* variables.h - the variables that the PMIx library gives a world's ranks, and the variables that
 * the ranks got before the library ran (starter/pmi/pmix-variables.h) */
#pragma once

#include "common/error.h"

/* Returns the variables that all ranks of a world get. env: the library's variables for one of them
 * (PMIx_server_setup_fork(); NULL: none). Leaves out the variable that differs from rank to rank,
 * and adds what Open MPI needs. The list is NULL-terminated and borrows its texts; the caller frees
 * the list. */
const char **variables_of_ranks(char *const env[]);
/* Compares the variables that ranks have got with the library's (both NULL-terminated). -1 with
 * err: they differ. */
int variables_compare(char *const given[], const char *const real[], struct error *err);
