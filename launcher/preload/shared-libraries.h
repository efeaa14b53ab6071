/* SPDX-License-Identifier: BSD-3-Clause */
/* shared-libraries.h - what a program takes from shared libraries, as its file says */
#pragma once

#include <stdbool.h>

#include "common/error.h"

/* A library: its name as programs ask for it, and where it was found. 0, or -1 with err. */
typedef int (*library_fn)(void *arg, const char *name, const char *path, struct error *err);

/* Calls take(arg) for those that the program at `path` needs, directly or not, and that the dynamic
 * loader would find outside of /lib, /usr/lib, /lib64 and /usr/lib64 with this LD_LIBRARY_PATH
 * (NULL: none). Nothing is executed. A file that is not ELF (a script) needs none. 0, or -1 with
 * err. */
int libraries_find(const char *path, const char *library_path, library_fn take, void *arg,
                   struct error *err);
/* Returns the first library that the program itself asks for and whose name begins with one of the
 * prefixes (NULL-terminated); the caller frees it. NULL: none, or no ELF file. */
char *libraries_needed(const char *path, const char *const prefixes[]);
/* Does the program take a function from a shared library whose name begins with one of the prefixes
 * (NULL-terminated)? False, too: no ELF file. */
bool program_calls(const char *path, const char *const prefixes[]);
