/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.h - parts of collectives, put together on their way up
 *
 * A collective is known by its signature, its turn (how often the same ranks have done the same
 * before) and its hosts. The launcher waits for the parts of all its hosts, a starter for those of
 * the hosts at and below its own. */
#ifndef WIRE_GATHER_H
#define WIRE_GATHER_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct gather;

struct gather_rules {
    uint32_t nhosts; /* of the step: a message without a list of hosts means them all */
    /* Whether this host's part comes by here. */
    int (*awaited)(void *arg, uint32_t host);
    /* All that come by here are in m, in the order of hosts. m is the gatherer's. */
    void (*complete)(void *arg, const Mprun__Collect *m);
};

enum { GATHER_MAX = 4096 }; /* collectives at a time */

struct gather *gather_create(const struct gather_rules *rules,
                             void *arg); /* rules: kept, not copied */
void gather_destroy(struct gather *g);
size_t gather_pending(const struct gather *g); /* collectives that wait; 0 for NULL */
/* A COLLECT has come. -1: it is not one that may come here, and nothing has changed. */
int gather_add(struct gather *g, const uint8_t *p, size_t n, struct error *err);

#endif
