/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.h - puts the parts of collectives together on their way up the tree
 *
 * A signature, a turn (how often the same ranks have done the same before) and a set of hosts
 * identify a collective. The launcher waits for the parts of all these hosts; a starter for those
 * of its own host and the hosts below it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct gather;

struct gather_rules {
    uint32_t nhosts; /* of the step: a message without a list of hosts means them all */
    /* Returns whether this host's part comes by here. */
    int (*awaited)(void *arg, uint32_t host);
    /* All parts that come by here are there: m, the gather's own, has them in hosts' order. */
    void (*complete)(void *arg, const Mprun__Collect *m);
};

/* Keeps rules, without copying them. */
struct gather *gather_create(const struct gather_rules *rules, void *arg);
void gather_destroy(struct gather *g);
/* Takes a COLLECT. -1 with err: it may not come here, and nothing has changed. */
int gather_add(struct gather *g, const uint8_t *p, size_t n, struct error *err);
