/* SPDX-License-Identifier: BSD-3-Clause */
/* word-lines.h - files whose lines are words, quoted as a shell has it
 *
 * '#' begins a comment line, blank lines are skipped, and '\' at the end continues a line. */
#pragma once

#include "common/error.h"

/* Calls take with the words of each line, NULL-terminated, which it may use during the call. 0, or
 * -1 with err, which names the file and the line. */
int word_lines_read(const char *path, int (*take)(void *arg, char **words, struct error *err),
                    void *arg, struct error *err);
/* The same, but calls `wrong` for each bad line, and reads the others. */
int word_lines_check(const char *path, int (*take)(void *arg, char **words, struct error *err),
                     void (*wrong)(void *arg, const struct error *why), void *arg,
                     struct error *err);
