/* SPDX-License-Identifier: BSD-3-Clause */
/* host-links.h - the tree of hosts: by which link mprun reaches each, and how it sends */
#pragma once

#include "launcher/hosts/host-table.h"
#include "wire/messages/frame.h"
#include "wire/messages/values.h"

/* ---- the tree -------------------------------------------------------------------------------- */

struct host *host_above(const struct host *h); /* in the tree; NULL: mprun itself */
/* The nearest host above, or h itself, that has a link of its own; NULL: h cannot be reached. */
struct host *host_top(struct host *h);
/* Is `which` true of any host above h through which h is linked? */
bool host_is_behind(const struct host *h, host_question which, const void *arg);
/* The host that a frame on top's link is from; NULL: it has no such host below. */
struct host *host_sender(struct host *top, uint32_t launch_index);

/* ---- links of hosts -------------------------------------------------------------------------- */

/* The host has a link of its own from now on; it takes l. */
void host_set_link(struct host *h, struct link *l);
/* l, a link of the host, has ended; the caller destroys it. False: it was h->first, and mprun still
 * reaches the host through the host above. */
bool host_drop_link(struct host *h, struct link *l);
/* A frame of this host has come by that link. */
void host_received(struct host *h, struct link *l);
/* A host that gets no answer from the host above has connected to mprun itself. Takes l and tells
 * the host if the step is ending. False: the host is not cut off; l stays the caller's. */
bool host_take_side_link(struct host *h, struct link *l);

/* ---- sending --------------------------------------------------------------------------------- */

/* All of these drop frames to hosts that mprun cannot reach. */
bool host_is_reachable(const struct host *h); /* by its own link, or through a host above it */
/* Send to this host's starter. False: it cannot be reached. */
bool host_send(struct host *h, enum frame_type type, const ProtobufCMessage *m);
void host_send_bulk(struct host *h, enum frame_type type, const struct bulk_header *bh,
                    const void *data, size_t n);
/* Send a frame to a host that has a link of its own, and to all below it. */
void host_send_down(struct host *top, enum frame_type type, const void *p, size_t n);
void hosts_broadcast(struct host_table *t, enum frame_type type, const ProtobufCMessage *m);
void hosts_broadcast_bytes(struct host_table *t, enum frame_type type, const void *p, size_t n);
/* A signal to the ranks of all hosts. from_manager: not to ranks that get it from the manager. */
void hosts_signal(struct host_table *t, int signo, bool from_manager);
/* All hosts are to end their ranks: TERM, and KILL after `grace` seconds. why: for their logs. */
void hosts_end_ranks(struct host_table *t, double grace, const char *why);
/* Write what waits now: mprun is about to be stopped. */
void hosts_flush(struct host_table *t);

/* ---- finding the place in the tree ----------------------------------------------------------- */

/* HELLO has come: tells the host its place, or lets it wait until the host above is ready. */
void host_place(struct host *h);
/* Take DOOR and JOINED of a host. -1: the host may not send it now. */
int host_place_door(struct host *h, const Mprun__Door *m);
int host_place_joined(struct host *h, const Mprun__Joined *m);
/* After each frame: closes h->first once the host no longer needs it. */
void host_place_leave_first(struct host *h);
/* Are last words of this host, or of one below it, still to come? */
bool host_place_is_awaited(struct host *h);

/* ---- silent-hosts.c: starters that send nothing over open links ------------------------------ */

/* Begins to watch, unless --heartbeat is 0. */
void hosts_watch(struct host_table *t, struct loop *loop);
/* Something came on the link of this host. */
void host_heard(const struct host *top);
/* PONG and SILENT of a host. -1: a frame that cannot be. */
int host_pong(const struct host *h, size_t n);
int host_told_silent(const struct host *from, const Mprun__Silent *m);
