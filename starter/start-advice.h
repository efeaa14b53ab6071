/* SPDX-License-Identifier: BSD-3-Clause */
/* start-advice.h - what to do about a rank that could not be started */
#ifndef STARTER_START_ADVICE_H
#define STARTER_START_ADVICE_H

#include "common/error.h"
#include "common/spawn.h"

/* Adds to the sentence in err what its user can do, where that is known. Of a file that is there and
 * cannot be executed for want of another one it says which, and makes f->code ENOEXEC. `program`
 * (NULL: none was found) is as execve had it, from `directory`. */
void start_advice(struct spawn_failure *f, const char *program, const char *directory,
                  struct error *err);

#endif
