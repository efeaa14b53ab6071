/* SPDX-License-Identifier: BSD-3-Clause */
/* host-links.h - the tree of hosts: through whom each is reached, and what is sent to hosts */
#pragma once

#include "launcher/hosts/host-table.h"
#include "wire/messages/frame.h"
#include "wire/messages/values.h"

/* ---- the tree -------------------------------------------------------------------------------- */

struct host *host_above(const struct host *h); /* in the tree; NULL: mprun itself */
/* The nearest host above, or h itself, that has a link of its own; NULL: h cannot be reached. */
struct host *host_top(struct host *h);
/* Has it joined, or has one above it joined, a host that `which` is true of? */
bool host_is_behind(const struct host *h, host_question which, const void *arg);
/* The host that a frame on top's link is from; NULL: it has no such host below. */
struct host *host_sender(struct host *top, uint32_t launch_index);

/* ---- links of hosts -------------------------------------------------------------------------- */

/* The host has a link of its own from now on; it takes l. */
void host_set_link(struct host *h, struct link *l);
/* Its own link has ended; the caller destroys it. False: it was only the first one of a host that
 * is reached through another. */
bool host_drop_link(struct host *h, struct link *l);
/* A frame of this host has come by that link. */
void host_received(struct host *h, struct link *l);
/* A host that gets no answer of the host above has connected to mprun itself: it takes l, and is
 * told there that the step ends, as host_table says. False: it is not cut off, l is not taken. */
bool host_take_side_link(struct host *h, struct link *l);

/* ---- sending --------------------------------------------------------------------------------- */

/* All of these drop what they are to send to a host that cannot be reached. */
bool host_is_reachable(const struct host *h); /* by its own link, or through a host above it */
/* Send to this host's starter. False: it cannot be reached. */
bool host_send(struct host *h, enum frame_type type, const ProtobufCMessage *m);
void host_send_bulk(struct host *h, enum frame_type type, const struct bulk_header *bh,
                    const void *data, size_t n);
/* Send a frame to a host that has a link of its own, and to all below it. */
void host_send_down(struct host *top, enum frame_type type, const void *p, size_t n);
void hosts_broadcast(struct host_table *t, enum frame_type type, const ProtobufCMessage *m);
void hosts_broadcast_bytes(struct host_table *t, enum frame_type type, const void *p, size_t n);
/* A signal to the ranks of all hosts. from_manager: not to ranks that have it from the manager. */
void hosts_signal(struct host_table *t, int signo, bool from_manager);
/* All hosts are to end their ranks: TERM, and KILL after `grace` seconds. why: for their logs. */
void hosts_end_ranks(struct host_table *t, double grace, const char *why);
/* Write what waits now: mprun is about to be stopped. */
void hosts_flush(struct host_table *t);

/* ---- finding the place in the tree ----------------------------------------------------------- */

/* HELLO has come: tells the host its place, or lets it wait until the host above is ready. */
void host_place(struct host *h);
/* DOOR and JOINED of a host. -1: not now. */
int host_place_door(struct host *h, const Mprun__Door *m);
int host_place_joined(struct host *h, const Mprun__Joined *m);
/* After each frame: close the link that is not needed any more. */
void host_place_leave_first(struct host *h);
/* Are last words of this host, or of one below it, still to come? */
bool host_place_is_awaited(struct host *h);

/* ---- silent-hosts.c: starters that say nothing although their links stand -------------------- */

/* Begins to watch, unless --heartbeat is 0. */
void hosts_watch(struct host_table *t, struct loop *loop);
/* Something came on the link of this host. */
void host_heard(const struct host *top);
/* PONG and SILENT of a host. -1: a frame that cannot be. */
int host_pong(const struct host *h, size_t n);
int host_told_silent(const struct host *from, const Mprun__Silent *m);
