/* SPDX-License-Identifier: BSD-3-Clause */
/* start-client.h - one start client: a process with the start channel as its standard descriptors
 */
#pragma once

#include "rm-adapters/adapter.h"

/* Start a client in a process group of its own, so that a terminal's signals reach mprun alone,
 * with the limits and umask of the request. The request's reaper calls ended() with arg at its end.
 * own_stderr: it writes to mprun's standard error; else to a pipe. 0 with *ret, whose descriptors
 * are the caller's; or -1. */
int client_start(const struct start_request *request, const char *path, char *const argv[],
                 bool own_stderr, reaper_fn ended, void *arg, struct start_channel *ret,
                 struct error *err);
