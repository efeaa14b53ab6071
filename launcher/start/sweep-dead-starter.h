/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep-dead-starter.h - what a starter of this machine has left when it died: processes, cgroups,
 * directories
 *
 * Starters of other machines are swept by the next step there, or by mprund. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct host;
struct starters_step;
struct sweep;

/* is_needed: this child of mprun is to be left alone. Children that mprun has already are left
 * alone as well: it was started with them. NULL: out of memory. */
struct sweep *sweep_create(const struct starters_step *step,
                           bool (*is_needed)(void *arg, pid_t pid), void *arg);
void sweep_destroy(struct sweep *s); /* NULL is fine */
/* Ends and removes what the host's dead starter left; nothing where the host is another machine.
 * Waits for it, some seconds at most; what cannot be removed is a warning. */
void sweep_host(const struct sweep *s, const struct host *h);
