/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.h - the process that does one host's part of the step, below the keeper */
#pragma once

#include <sys/types.h>

struct preamble;

/* Runs the worker until it ends, and returns its exit code. keeper_fd: the worker's end of the
 * packet socket; agent_fd: of that to the job's agent, -1: none. Wipes the key in *start. hostname:
 * for messages. */
int worker_run(pid_t keeper, int keeper_fd, int agent_fd, struct preamble *start,
               const char *hostname);
