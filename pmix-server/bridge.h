/* SPDX-License-Identifier: BSD-3-Clause */
/* bridge.h - from PMIx's threads to the loop's, in order
 *
 * An upcall copies what it was given into one allocation that begins with a struct bridge_item,
 * posts it and returns; the loop's thread runs it later. */
#ifndef PMIX_SERVER_BRIDGE_H
#define PMIX_SERVER_BRIDGE_H

#include "common/error.h"
#include "common/loop.h"

struct bridge;

struct bridge_item {
    struct bridge_item *next;
    void (*run)(struct bridge_item *item); /* in the loop's thread; owns the item */
};

struct bridge *bridge_create(struct loop *loop, struct error *err);
/* Items that wait are freed, and not run. NULL is fine. No thread may post any more. */
void bridge_destroy(struct bridge *b);
/* From any thread. Takes the item, which comes from malloc(). */
void bridge_post(struct bridge *b, struct bridge_item *item);
/* In the loop's thread: nothing waits. */
int bridge_is_empty(struct bridge *b);

#endif
