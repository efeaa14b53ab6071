/* SPDX-License-Identifier: BSD-3-Clause */
/* hostrange.h - "n[1-4]", "n[01-16,20].x", "r[1-2]n[1-4]": names of hosts that count up
 *
 * As Slurm and ClusterShell write them. A number keeps the width of the first one of its range. */
#ifndef RM_ADAPTERS_HOSTRANGE_H
#define RM_ADAPTERS_HOSTRANGE_H

#include <stddef.h>

#include "common/error.h"

enum { HOSTRANGE_HOSTS_MAX = 65536, HOSTRANGE_GROUPS_MAX = 4 };

/* Whether the text is one, be it a wrong one: it has a '[' that begins no IPv6 address. */
int hostrange_is(const char *text, size_t n);
/* fn for each of its names, in order, until that returns -1. 0, or -1 with the reason; names may
 * have been given out by then. */
int hostrange_each(const char *text, size_t n,
                   int (*fn)(void *arg, const char *name, size_t len, struct error *err), void *arg,
                   struct error *err);

#endif
