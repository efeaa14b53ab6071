/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn-place.h - on which hosts the ranks of a spawned program go, as its info keys say */
#pragma once

#include "model/step.h"
#include "wire/mprun.pb-c.h"

struct host_table;
struct worlds;

/* The last value of an info key; NULL: absent. The caller frees it. */
char *spawn_key(const Mprun__Spawn__App *app, const char *name);

/* Places the program's ranks, which begin with `first` of that world, on slots that are free, and
 * adds them to the hosts' ranks. Relative names of files are in `directory`; NULL: the ranks are
 * a queue's, and all that the step's options say of places holds for them. ret_app gets a binding
 * where a key asks for one. -1 with err: a key that cannot be obeyed, or too few free slots. */
int spawn_place(const struct host_table *hosts, const struct worlds *worlds,
                const Mprun__Spawn__App *app, const char *directory, uint32_t world, uint32_t first,
                struct rank_set *ret_hosts, struct app *ret_app, struct error *err);
