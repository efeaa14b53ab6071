/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.h - every action of the daemon's as a line: for who wants to see what it does, and when
 *
 *     2026-11-22T03:25:21.123Z enter job=23.1 task=1.n12 pid=4711 ...
 * A word for the action, then words NAME=VALUE; nothing of a user's choice is in it. */
#pragma once

#include "common/error.h"

/* From here on into this file, at its end; "-": standard error. NULL: no more. 0, or -1 with err:
 * as it was. */
int trace_open(const char *path, struct error *err);
/* The same into an open file, which trace takes. */
void trace_to(int fd);
void trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
