/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.h - puts the parts of PMI collectives together on their way up the tree
 *
 * A signature, a turn (how often the same ranks have done the same before) and a set of hosts
 * identify a collective. mprun waits for the parts of all these hosts; a starter waits for those of
 * its own host and of the hosts below it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct gather;

struct gather_rules {
    uint32_t nhosts; /* of the step: a message without a list of hosts means all of them */
    /* Returns whether this host's part passes through this process. */
    int (*awaited)(void *arg, uint32_t host);
    /* All awaited parts are there, in hosts' order, in m; m stays the gather's. */
    void (*complete)(void *arg, const Mprun__Collect *m);
};

/* Keeps rules, without copying them. */
struct gather *gather_create(const struct gather_rules *rules, void *arg);
void gather_destroy(struct gather *g);
/* Takes a COLLECT. -1 with err: the part may not come here; nothing has changed. */
int gather_add(struct gather *g, const uint8_t *p, size_t n, struct error *err);
/* The world has ended: drops the collectives that ranks of it have begun and not completed. */
void gather_forget(struct gather *g, uint32_t world);
