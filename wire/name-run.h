/* SPDX-License-Identifier: BSD-3-Clause */
/* name-run.h - names of hosts that count up: n098.cluster, n099.cluster, n100.cluster
 *
 * The number is the last one before the first dot. It keeps its width while its digits suffice. */
#ifndef WIRE_NAME_RUN_H
#define WIRE_NAME_RUN_H

#include <stddef.h>
#include <stdint.h>

/* The name k places further than `first` (of n bytes) into buf. Its length; -1: there is no such
 * name, or it does not fit. */
int name_run_at(const char *first, size_t n, uint32_t k, char *buf, size_t size);

#endif
