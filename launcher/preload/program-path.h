/* SPDX-License-Identifier: BSD-3-Clause */
/* program-path.h - which file of mprun's host a program's name means */
#pragma once

#include <stdbool.h>

#include "common/error.h"

struct app;

/* Finds `name` as the app's ranks would if this were their host. spawned: a rank spawns the app
 * (spawn_resolve_here). 0 with *ret, which the caller frees: a path that mprun can open wherever
 * the app's directory is; or -1 with err. */
int program_path(const struct app *app, const char *name, bool spawned, char **ret,
                 struct error *err);
