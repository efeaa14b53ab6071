/* SPDX-License-Identifier: BSD-3-Clause */
/* cannot-start.h - what a user can do about a program that cannot be started on this host */
#pragma once

#include <stdbool.h>

#include "common/processes/spawn.h"
#include "model/step.h"

/* Adds to the sentence in err what the user can do, where that is known. If the program is there
 * but its interpreter or loader is missing, says which, and sets f->code to ENOEXEC. program: as
 * execve() got it, from the app's directory; NULL: none was found. */
void cannot_start_advise(struct spawn_failure *f, const struct app *app, const char *program,
                         struct error *err);
/* Can ranks be in the app's directory? Returns 0, or -1 with *f, and a sentence in err. */
int cannot_start_try_directory(const struct app *app, struct spawn_failure *f, struct error *err);
/* Is that a command of sh, bash or csh that is no program, or 'module'? */
bool is_shell_command(const char *name);
