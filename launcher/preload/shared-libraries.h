/* SPDX-License-Identifier: BSD-3-Clause */
/* shared-libraries.h - the shared libraries of a program that are not the system's */
#pragma once

#include <stddef.h>

#include "common/error.h"

struct library {
    char *name; /* as programs ask for it */
    char *path; /* where it was found */
};

struct libraries {
    struct library *all;
    size_t n;
};

/* Those that the program at `path` needs, directly or not, and that the dynamic loader would find
 * outside of /lib, /usr/lib, /lib64 and /usr/lib64 with this LD_LIBRARY_PATH (NULL: none). Nothing
 * is executed. They are added to ret, each name once; a file that is not ELF (a script) needs none.
 */
int libraries_find(const char *path, const char *library_path, struct libraries *ret,
                   struct error *err);
void libraries_free(struct libraries *l); /* what it holds, not itself */
