/* SPDX-License-Identifier: BSD-3-Clause */
/* ask.h - what a manager's own command says
 *
 * It is waited for, as nothing else is in mprun: only before the step begins, and where it has
 * failed already. */
#ifndef RM_ADAPTERS_ASK_H
#define RM_ADAPTERS_ASK_H

#include <stddef.h>

/* Run a program for at most so many seconds. What it wrote to its standard output, cut to n - 1
 * bytes, is in buf; 0, or -1 when it could not run, took too long, or failed. */
int ask_command(const char *path, char *const argv[], double seconds, char *buf, size_t n);

#endif
