/* SPDX-License-Identifier: BSD-3-Clause */
/* client-channel.h - standard input and output of a start client: mprun's ends of a start channel
 *
 * mpstarter says on it that it is there, and waits then for what it is to be told. All else that
 * comes is text of login scripts, task prologs and the like, and is shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct client_channel;
struct host;
struct loop;
struct start_channel;

struct client_channel_events {
    void (*ready)(void *arg); /* mpstarter is there: tell it what it has to know */
    void (*asks)(void *arg);  /* it reaches no address, and asks for the channel as its link */
};

/* Owns c->in_fd and c->out_fd. NULL: out of memory; both are closed then. The functions below,
 * except tell and take, take NULL. */
struct client_channel *client_channel_create(struct loop *loop, const struct host *h,
                                             const struct start_channel *c,
                                             const struct client_channel_events *events, void *arg);
void client_channel_destroy(struct client_channel *c); /* not from its own events */

/* mpstarter has not said yet that it is there, and can still be told something. */
bool client_channel_awaits_ready(const struct client_channel *c);
/* Writes n bytes to mpstarter. may_ask: it may ask for the channel later. Returns 0, or -1 with
 * errno. */
int client_channel_tell(struct client_channel *c, const void *p, size_t n, bool may_ask);
/* mpstarter is told nothing more: ends its input, unless the channel is a terminal, which would
 * hang up. Does nothing before mpstarter is ready. */
void client_channel_end_input(struct client_channel *c);
/* Ends its input in any case. */
void client_channel_close_input(struct client_channel *c);
void client_channel_close(struct client_channel *c);
/* The channel becomes a link: the caller owns both descriptors. */
void client_channel_take(struct client_channel *c, int *ret_in_fd, int *ret_out_fd);

/* The client has ended: no event comes any more. */
void client_channel_client_ended(struct client_channel *c);
/* Reads what the client still said. */
void client_channel_drain(struct client_channel *c);
/* Shows text that came from the host outside of the protocol. */
void client_channel_show_text(const struct host *h, const char *text);
