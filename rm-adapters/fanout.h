/* SPDX-License-Identifier: BSD-3-Clause */
/* fanout.h - start clients for many hosts: one host a turn of the loop, so many on their way at
 * once, an event for each change
 *
 * This is what an adapter's start, cancel, reported, abandon and destroy have in common; what
 * differs is how the channel of one host is opened. */
#ifndef RM_ADAPTERS_FANOUT_H
#define RM_ADAPTERS_FANOUT_H

#include "rm-adapters/adapter.h"

enum { FANOUT_AT_ONCE = 64 }; /* on their way, where the request does not say */

struct fanout_way {
    /* Open the start channel of a host of the request, mostly with fanout_client(). 0 with *ret,
     * or -1. */
    int (*open)(struct starting *s, size_t host, struct start_channel *ret, struct error *err);
    void (*destroy)(void *arg); /* of the adapter's own data; NULL: nothing to do */
    int let_clients_be;         /* nobody is ended by a signal: that would cost more than a host */
};

/* Begin. arg is the adapter's own and becomes the fanout's, also on failure. concurrency: hosts on
 * their way at once. NULL with err when memory is out. */
struct starting *fanout_begin(const struct start_request *request, const struct fanout_way *way,
                              void *arg, unsigned concurrency, struct error *err);
void *fanout_arg(const struct starting *s);
const struct start_request *fanout_request(const struct starting *s);

/* For open(): a client as in client_start(), whose end is an event of the host. */
int fanout_client(struct starting *s, size_t host, const char *path, char *const argv[],
                  int own_stderr, struct start_channel *ret, struct error *err);
/* The same with mpstarter itself, on the machine that mprun runs on. */
int fanout_starter(struct starting *s, size_t host, struct start_channel *ret, struct error *err);
/* Where a host's client is no process of its own: it has ended. 0 when the fanout is gone now. */
int fanout_ended(struct starting *s, size_t host, int status);
/* Open the channel of a host, whose client has ended, once more: with the next turns of the loop.
 */
void fanout_again(struct starting *s, size_t host);

/* For the adapter's table, as adapter.h has them. */
void fanout_cancel(struct starting *s);
void fanout_reported(struct starting *s, size_t host);
void fanout_abandon(struct starting *s, size_t host);
void fanout_destroy(struct starting *s);

#endif
