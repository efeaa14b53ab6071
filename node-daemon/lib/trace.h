/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.h - every action of the daemon's as a line: for an administrator who watches it
 *
 *     2026-11-22T03:25:21.123Z enter job=23.1 task=1.n12 pid=4711 ...
 * A word for the action, then words NAME=VALUE; nothing of a user's choice is in it. */
#pragma once

#include "common/error.h"

/* A descriptor of this file, to write at its end; "-": of standard error. -1 with err. */
int trace_file(const char *path, struct error *err);
/* From here on into this descriptor, which is the trace's from now on; -1: no more. */
void trace_to(int fd);
void trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
