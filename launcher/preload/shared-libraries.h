/* SPDX-License-Identifier: BSD-3-Clause */
/* shared-libraries.h - the shared libraries of a program that are not the system's */
#pragma once

#include "common/error.h"

/* A library: its name as programs ask for it, and where it was found. 0, or -1 with err. */
typedef int (*library_fn)(void *arg, const char *name, const char *path, struct error *err);

/* Calls take(arg) for those that the program at `path` needs, directly or not, and that the dynamic
 * loader would find outside of /lib, /usr/lib, /lib64 and /usr/lib64 with this LD_LIBRARY_PATH
 * (NULL: none). Nothing is executed. A file that is not ELF (a script) needs none. 0, or -1 with
 * err. */
int libraries_find(const char *path, const char *library_path, library_fn take, void *arg,
                   struct error *err);
