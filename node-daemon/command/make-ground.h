/* SPDX-License-Identifier: BSD-3-Clause */
/* make-ground.h - finding and making the cgroup below which all jobs have theirs */
#pragma once

#include "node-daemon/lib/ground.h"

enum { GROUND_TEXT_MAX = 128 };
#define GROUND_LACKS_ADVICE                                                                        \
    "no hierarchy of cgroups that is mounted here gives it to them (v2 knows neither devices nor " \
    "net_cls)"

/* MAKE: make it where it is missing, and enable controllers down to it. MAKE_BELOW: the same, but
 * enable none in directories that exist. LOOK: check whether MAKE would work and change nothing;
 * opens the parts that exist. cgroup, and v2_cgroup for cgroup v2: "/mprund", from the hierarchy's
 * root. version: of the hierarchies; 0: both. controllers: those that jobs are to have. 0, or -1
 * with err: nothing is open. */
enum ground_use { GROUND_MAKE, GROUND_MAKE_BELOW, GROUND_LOOK };
int ground_open(struct ground *g, const char *cgroup, const char *v2_cgroup, int version,
                unsigned controllers, enum ground_use use, struct error *err);
void ground_close(struct ground *g);
/* Those of the wanted controllers that jobs have in no hierarchy here. */
unsigned ground_lacks(const struct ground *g, unsigned controllers);
/* "memory, pids": their names. Returns text. */
const char *ground_words(unsigned controllers, char text[GROUND_TEXT_MAX]);
