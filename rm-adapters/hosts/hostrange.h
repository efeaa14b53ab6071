/* SPDX-License-Identifier: BSD-3-Clause */
/* hostrange.h - "n[1-4]", "n[01-16,20].x", "r[1-2]n[1-4]": names of hosts that count up
 *
 * This is the notation of Slurm and ClusterShell. Numbers have the width of the first one of their
 * range. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

enum { HOSTRANGE_HOSTS_MAX = 65536, HOSTRANGE_GROUPS_MAX = 4 };

/* Is the text meant as a range? It is where a '[' begins no IPv6 address. It may still be wrong. */
bool hostrange_is(const char *text, size_t n);
/* Call fn for each name, in order, until it returns -1. 0, or -1 with the reason, when fn may have
 * been called for some. */
int hostrange_each(const char *text, size_t n,
                   int (*fn)(void *arg, const char *name, size_t len, struct error *err), void *arg,
                   struct error *err);
