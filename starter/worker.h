/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.h - the process that does one host's part of the step, below the keeper */
#pragma once

struct kept_worker;
struct preamble;

/* Runs the worker until it ends, and returns its exit code. Wipes the key in *start. hostname: for
 * messages. */
int worker_run(const struct kept_worker *self, struct preamble *start, const char *hostname);
