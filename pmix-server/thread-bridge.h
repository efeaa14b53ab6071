/* SPDX-License-Identifier: BSD-3-Clause */
/* thread-bridge.h - a queue from the PMIx library's threads to the loop's
 *
 * An upcall copies its arguments into one allocation that begins with a struct bridge_item, posts
 * it and returns; the loop's thread runs the items later, in the same order. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "common/error.h"
#include "common/loop.h"

struct server;

struct bridge_item {
    struct bridge_item *next;
    /* Called in the loop's thread, with the bridge's server. Owns the item. */
    void (*run)(struct bridge_item *item, struct server *s);
};

struct bridge { /* private to thread-bridge.c */
    struct server *server;
    pthread_mutex_t lock;
    struct bridge_item *first, **last; /* under lock */
    int wake_fd;
    struct loop_io *io;
};

/* Makes a bridge, which lives as long as the program. -1 with err. */
int bridge_init(struct bridge *b, struct loop *loop, struct server *s, struct error *err);
/* Adds an item, from any thread. Takes it. */
void bridge_post(struct bridge *b, struct bridge_item *item);
/* Returns true when no item waits. Call it in the loop's thread. */
bool bridge_is_empty(struct bridge *b);
