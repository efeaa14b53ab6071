/* SPDX-License-Identifier: BSD-3-Clause */
/* usage-now.h - what all ranks use now, for somebody at the terminal */
#pragma once

#include "launcher/hosts/host-table.h"
#include "wire/messages/values.h"

struct usage_now;
struct verdict;

/* NULL: out of memory. */
struct usage_now *usage_now_create(struct loop *loop, struct host_table *hosts,
                                   const struct verdict *verdict);
void usage_now_destroy(struct usage_now *u); /* NULL is fine */

/* Ask all hosts, and say what all ranks use when they have answered or USAGE_NOW_SECONDS are over.
 * To be called after LAUNCH. */
void usage_now_ask(struct usage_now *u);
/* PRESENT of a host. -1: a frame that cannot be. */
int usage_now_answer(struct usage_now *u, const struct host *h, const Mprun__Present *m);
