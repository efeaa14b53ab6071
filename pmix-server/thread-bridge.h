/* SPDX-License-Identifier: BSD-3-Clause */
/* thread-bridge.h - a queue from the PMIx library's threads to the loop's
 *
 * An upcall copies its arguments into one allocation that begins with a struct bridge_item, posts
 * it and returns; the loop's thread runs the items later, in their order. */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "common/loop.h"

struct bridge;

struct bridge_item {
    struct bridge_item *next;
    void (*run)(struct bridge_item *item); /* in the loop's thread; owns the item */
};

struct bridge *bridge_create(struct loop *loop, struct error *err);
/* Frees the items that wait without running them. No thread may post any more. NULL is fine. */
void bridge_destroy(struct bridge *b);
/* Adds an item, from any thread. Takes it; it comes from malloc(). */
void bridge_post(struct bridge *b, struct bridge_item *item);
/* Whether no item waits. Called in the loop's thread. */
bool bridge_is_empty(struct bridge *b);
