/* SPDX-License-Identifier: BSD-3-Clause */
/* print-variables.h - mppmi --variables */
#pragma once

/* Starts the library and writes the texts that starter/pmi/pmix-variables.c fills in. Returns the
 * exit code. */
int print_variables(void);
