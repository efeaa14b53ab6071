/* SPDX-License-Identifier: BSD-3-Clause */
/* start-failure-advice.h - what to do about a rank that could not be started */
#pragma once

#include "common/error.h"
#include "common/spawn.h"

/* Add to the sentence in err what the user can do, where that is known. If the program is there but
 * its interpreter or loader is missing, say which, and set f->code to ENOEXEC. program: as execve()
 * got it, from `directory`; NULL: none was found. */
void start_failure_advice(struct spawn_failure *f, const char *program, const char *directory,
                          struct error *err);
