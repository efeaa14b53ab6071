/* SPDX-License-Identifier: BSD-3-Clause */
/* host-name-list.h - names of hosts that count up: n098.cluster, n099.cluster, n100.cluster
 *
 * The number is the last one before the first dot. It keeps its width while its digits suffice. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Put the name k places further than `first` (of n bytes) into buf. Its length; -1: there is no
 * such name, or it does not fit. */
int name_run_at(const char *first, size_t n, uint32_t k, char *buf, size_t size);

enum { NAME_RUN_TEXT = 320 }; /* a name of a host and a count */
/* n names for a message: "n2, n[5-7], m1"; three or more that count up are one word, as --host
 * takes it. What does not fit is counted: "n2 and 12 others". size: at least NAME_RUN_TEXT. */
void name_run_list(const char *const *names, size_t n, char *buf, size_t size);
/* All of them as one word: "n2,n[5-7],m1". The caller frees it. */
char *name_run_word(const char *const *names, size_t n);
