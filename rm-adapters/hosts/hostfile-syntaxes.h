/* SPDX-License-Identifier: BSD-3-Clause */
/* hostfile-syntaxes.h - files that list hosts, in the four syntaxes that are in use
 *
 *     Open MPI      n1 slots=4 max_slots=8
 *     Hydra         n1:4
 *     PBS           n1            (a line for each slot)
 *     Grid Engine   n1 4 queue cores
 *
 * A line that is a name alone fits all but the last; '#' begins a comment. A file has one syntax,
 * which its lines show. */
#pragma once

#include "rm-adapters/hosts/hostlist.h"

enum { HOSTFILE_MAX = 8 << 20 }; /* bytes of a file */

/* Add the hosts of a file to l. 0, or -1; errors name file and line. */
int hostfile_read(const char *path, struct hostlist *l, struct error *err);
/* The same for the file's text; path is for messages and sources. */
int hostfile_parse(const char *text, size_t n, const char *path, struct hostlist *l,
                   struct error *err);
