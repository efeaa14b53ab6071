/* SPDX-License-Identifier: BSD-3-Clause */
/* client.h - one start client: a process with the start channel as its standard descriptors */
#ifndef RM_ADAPTERS_CLIENT_H
#define RM_ADAPTERS_CLIENT_H

#include "rm-adapters/adapter.h"

/* Start it in a process group of its own (what a terminal sends to mprun is mprun's to pass on),
 * with the limits and umask of the request, and have its end reported to the request's reaper.
 * own_stderr: it writes to mprun's standard error; else through a pipe. 0 with *ret, or -1. */
int client_start(const struct start_request *request, const char *path, char *const argv[],
                 int own_stderr, reaper_fn ended, void *arg, struct start_channel *ret,
                 struct error *err);

#endif
