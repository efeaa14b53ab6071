/* SPDX-License-Identifier: BSD-3-Clause */
/* spool.h - what Grid Engine's execd has written down of this task
 *
 * Lines "name=value" in the file `config` of its spool directory, which $SGE_JOB_SPOOL_DIR names.
 * Where administrators have closed that directory to users, there is none. */
#ifndef STARTER_SPOOL_H
#define STARTER_SPOOL_H

#include <stddef.h>

struct spool {
    char *text; /* the file's lines, each ended by a NUL; NULL: none */
    size_t len;
};

/* Read it, if it is there and can be read; the caller frees text. */
void spool_read(struct spool *s);
/* The value of the first line with this name, or NULL. It lives as long as *s. */
const char *spool_value(const struct spool *s, const char *name);

#endif
