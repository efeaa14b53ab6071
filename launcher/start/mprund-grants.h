/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-grants.h - what mprund of this host signs of the job, for the daemons of its other hosts
 *
 * Asked for when the allocation is known; hosts are started when the answer is there, or has taken
 * too long. It is only carried here, to where the manager's own daemon writes it down beside the
 * task. Without mprund, or where it signs nothing, starters are started without. */
#pragma once

#include <stdbool.h>

struct grants;
struct loop;
struct step_plan;

/* Asks mprund, where the manager carries what it signs to the job's other hosts. NULL: out of
 * memory. */
struct grants *grants_ask(const struct step_plan *plan);
void grants_destroy(struct grants *g); /* NULL is fine */
/* Calls `then` when the answer has come, or after GRANTS_SECONDS without; at once where nothing was
 * asked for. */
void grants_await(struct grants *g, struct loop *loop, void (*then)(void *arg), void *arg);
/* Stops waiting; `then` will not be called. True if it was still to come. */
bool grants_forget(struct grants *g);
/* An entry for each host of the plan's `used`: "NAME=VALUE" for its starter, or NULL. Returns NULL
 * where no host gets one. */
const char *const *grants_variables(const struct grants *g);
