/* SPDX-License-Identifier: BSD-3-Clause */
/* daemonize.h - going into the background, and telling when the daemon serves */
#pragma once

#include "common/error.h"

/* Go on as a process of a session of its own; the caller's process waits until daemon_ready() and
 * exits with 0, or with the exit code of this one when that ends before. *ret is for
 * daemon_ready(). 0, or -1. */
int daemonize(int *ret, struct error *err);
/* The daemon serves: whoever started it goes on. ready: from daemonize(), or -1. */
void daemon_ready(int ready);
/* Write this process's number into a new file, in place of an old one. */
int pidfile_write(const char *path, struct error *err);
