/* SPDX-License-Identifier: BSD-3-Clause */
/* spool-fixture.h - an execd's spool directory of the test's own, and the reader that reads it */
#pragma once

#include "part-fixture.h"

extern char spool_dir[64];  /* has spool/ and whatever the test puts beside it */
extern char spool_user[64]; /* who runs the test */
extern gid_t spool_group;   /* a supplementary group of the test's; 0: it has none */

/* For a group's set-up, after part_be_ordinary(), and its tear-down. */
int spool_make(void);
int spool_remove(void **state);
/* A file below active_jobs, in a directory that is made for it. */
void spool_write(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void spool_unlink(const char *path); /* a file, or a directory with all that is in it */
/* Start the reader with a configuration that has these lines more in its section gridengine. */
void spool_reader(const char *more, struct part *ret);
