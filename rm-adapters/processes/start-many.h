/* SPDX-License-Identifier: BSD-3-Clause */
/* start-many.h - starts the start clients of many hosts, a limited number at once, and reports each
 * one's end
 *
 * The common part of the adapters' start, cancel, reported, abandon, retry and destroy. They differ
 * in how they open the start channel of one host. Each turn of the loop opens one. */
#pragma once

#include "rm-adapters/adapter.h"

struct fanout_way { /* constant, of an adapter */
    /* Open the start channel of a host of the request, mostly with fanout_client(). 0 with *ret,
     * or -1. */
    int (*open)(struct starting *s, size_t host, struct start_channel *ret, struct error *err);
    void (*destroy)(void *arg); /* frees the adapter's own data; NULL: there is nothing to free */
    bool let_clients_be;        /* never signal a client, because that would cost the whole job */
    unsigned at_once;           /* hosts whose start may be under way at once; 0: as many as the
                                   request says, or else START_AT_ONCE of tunables.h */
};

/* Begin to start all hosts of the request, which is copied. The fanout owns arg, the adapter's own
 * data. */
struct starting *fanout_begin(const struct start_request *request, const struct fanout_way *way,
                              void *arg);
void *fanout_arg(const struct starting *s);
const struct start_request *fanout_request(const struct starting *s);

/* For open(): start a client in a process group of its own, so that a terminal's signals reach
 * mprun alone, with the limits and umask of the request. Its end becomes an event of the host. 0
 * with *ret, whose descriptors are close-on-exec, or -1. */
int fanout_client(struct starting *s, size_t host, const char *path, char *const argv[],
                  struct start_channel *ret, struct error *err);
/* The same with mpstarter itself, on the machine that mprun runs on; it writes to mprun's standard
 * error. */
int fanout_starter(struct starting *s, size_t host, struct start_channel *ret, struct error *err);
/* For a host whose client is no process of its own: report its end. */
void fanout_ended(struct starting *s, size_t host, int status);
/* Open the channel of a host, whose client has ended, once more, in a later turn of the loop. */
void fanout_again(struct starting *s, size_t host);

/* The host's client; 0: none runs. */
pid_t fanout_client_pid(const struct starting *s, size_t host);

/* Members of an adapter's table, as adapter.h describes them. */
void fanout_cancel(struct starting *s);
void fanout_reported(struct starting *s, size_t host);
void fanout_abandon(struct starting *s, size_t host);
bool fanout_hand_over(struct starting *s, size_t host, int *ret_fd);
void fanout_destroy(struct starting *s);
