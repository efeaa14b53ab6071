/* SPDX-License-Identifier: BSD-3-Clause */
/* link.h - frames over one connection: authenticated, optionally encrypted, bounded
 *
 * A link is made from connected descriptors. First both ends prove that they know the step key
 * (key-proof.h), except on a trusted link, a socketpair between two of our own processes. Control
 * frames go out ahead of bulk frames. Callbacks tell the owner what happens; each of them may
 * destroy the link.
 *
 * A link over TCP can outlive its connection when both ends want that (resume_seconds). Both number
 * their frames and keep them until the peer acknowledges them. When a connection is lost, the
 * connector dials again, the acceptor's owner hands the new connection to the link that waits for
 * it (link_adopt()), and both ends go on with the first frame that the other has not received. In
 * between, frames that are sent wait in the link, and link_bulk_room() is 0. link_destroy() says
 * goodbye, so that the peer's closed() comes at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/loop.h"
#include "wire/messages/frame.h"

struct link;

enum link_role {
    LINK_TRUSTED,   /* no handshake, no encryption */
    LINK_CONNECTOR, /* proves first: a starter */
    LINK_ACCEPTOR,  /* the launcher */
};

/* How frames are protected once both ends have proved the key. */
enum link_security {
    LINK_PLAIN,
    LINK_ENCRYPT, /* nobody else can read, change, repeat or drop one */
    LINK_MAC,     /* nobody else can change, repeat or drop one, but others can read them */
};

struct link_events {
    /* The handshake is done. host_id: the peer's (acceptor only). -1 with why refuses the peer. */
    int (*opened)(void *arg, struct link *l, uint32_t host_id, struct error *why);
    /* A whole frame or message has come. payload is valid during the call only. */
    void (*frame)(void *arg, struct link *l, enum frame_type type, const uint8_t *payload,
                  size_t n);
    /* n bytes of a FRAME_OUTPUT can still be read from fd. Moves some of them by splice(2), so that
     * they are never copied, and returns how many; 0: none has come yet; -1: the owner wants the
     * rest as an ordinary frame with this header. Called for large frames of unencrypted links
     * only. May be NULL. */
    ssize_t (*move)(void *arg, struct link *l, const struct bulk_header *h, int fd, size_t n);
    /* Bulk frames that waited have gone out: link_bulk_room() may have grown. May be NULL. */
    void (*writable)(void *arg, struct link *l);
    /* Only a link that can be resumed: its connection is lost, and it waits for another one; it has
     * one, after so many seconds. May be NULL. */
    void (*lost)(void *arg, struct link *l, const struct error *why);
    void (*resumed)(void *arg, struct link *l, double seconds);
    /* The link is dead. Called once. why->code is 0 with "closed" at a clean end of file,
     * ECONNRESET in the middle of a message. For a link that could be resumed it is 0 when the peer
     * said goodbye; ECONNREFUSED when the peer's process is known to be gone, or has given the link
     * up; ECONNRESET when no connection followed an end of file or reset within resume_patience;
     * ETIMEDOUT when none came for resume_seconds. */
    void (*closed)(void *arg, struct link *l, const struct error *why);
};

struct link_options {
    enum link_role role;
    const uint8_t *key;          /* LINK_KEY bytes; copied; NULL when trusted */
    uint32_t host_id;            /* of a connector */
    enum link_security security; /* both ends must agree: it is part of what is proved */
    int skip_noise;              /* skip text before the peer's magic: a start channel's */
    /* Over TCP only; ignored on anything else. 0 means the number in tunables.h. */
    double resume_seconds;  /* wait so long for another connection; 0: do not resume */
    double resume_patience; /* an acceptor waits so long after an end of file or reset, which is how
                               a dead process looks */
    size_t resume_bytes;    /* kept until acknowledged, at most, and one frame more */
    double dead_seconds;    /* the peer's kernel has not answered for so long: connection lost */
    const char *addresses;  /* a connector dials these again (address.h); copied */
};

enum { LINK_KEY = 32 };

/* Takes both descriptors (they may be the same), also on failure, and makes them non-blocking.
 * name: for messages ("host vm"). NULL with err. */
struct link *link_create(struct loop *loop, int in_fd, int out_fd, const struct link_options *o,
                         const char *name, const struct link_events *events, void *arg,
                         struct error *err);
void link_destroy(struct link *l); /* closes, without a callback; NULL is fine */
void link_set_events(struct link *l, const struct link_events *events, void *arg);
const char *link_name(const struct link *l);
/* Returns true when the peer has proved the key and the link is not dead. It may be without a
 * connection. */
bool link_is_open(const struct link *l);
/* Counts how often the link has read something; an acknowledgement counts, too: the peer's program
 * sent it. Returns 1 with *ret_times; 0: there is no connection now. */
int link_heard(const struct link *l, uint32_t *ret_times);
/* The text that came before the peer's magic, or before the end of the link, without control
 * characters; "" when there was none. */
const char *link_noise(const struct link *l);

/* The host of the frame that is being delivered or moved now. */
uint32_t link_frame_host(const struct link *l);

/* Every frame carries a host: its sender on the way up, its receiver on the way down
 * (FRAME_EVERY_HOST: all hosts that this link reaches).
 *
 * Queue a control message; it goes out after the handshake. Errors come as closed(). REPORT and
 * CLEANED, a host's last messages, go out behind bulk frames. */
void link_send_to(struct link *l, uint32_t host, enum frame_type type, const ProtobufCMessage *m);
/* The same for the host that this end is (host_id). */
void link_send(struct link *l, enum frame_type type, const ProtobufCMessage *m);
void link_send_bytes(struct link *l, enum frame_type type, const void *p, size_t n);

/* Queues a payload that is packed already, this host's or another's: a message, or bulk data, of
 * which the host's credit, and not the link, bounds the amount. */
void link_relay(struct link *l, uint32_t host, enum frame_type type, const void *p, size_t n);
/* Queue a bulk frame of n data bytes. */
void link_send_bulk_to(struct link *l, uint32_t host, enum frame_type type,
                       const struct bulk_header *h, const void *data, size_t n);

/* How many bytes of bulk data may be queued now. */
size_t link_bulk_room(const struct link *l);
/* Bytes of bulk frames that a control frame sent now would overtake. When there are some,
 * `writable` comes after they have gone out. */
size_t link_bulk_pending(const struct link *l);
/* Make a bulk frame in place: reserve room for at most n bytes of data, fill it, and commit the
 * bytes that were filled. Committing 0 drops the reservation, except with `even_empty`: that is the
 * end of a stream. */
uint8_t *link_bulk_reserve(struct link *l, size_t n);
void link_bulk_commit(struct link *l, enum frame_type type, const struct bulk_header *h, size_t n,
                      int even_empty);
/* Makes a bulk frame of n bytes that are in the pipe fd, which only the caller reads, without
 * copying them. Returns 1 when the frame is on its way; 0: impossible now, or ever (encryption);
 * reserve and commit instead. */
int link_bulk_move(struct link *l, enum frame_type type, const struct bulk_header *h, int fd,
                   size_t n);
/* Writes as much of what waits as is possible without blocking. Returns 1 when nothing is left. */
int link_flush(struct link *l);
/* Reads and delivers everything that the peer has sent so far, without waiting: the last messages
 * of a process that has ended. closed() still comes from the loop. */
void link_read_rest(struct link *l);
/* Bytes that the kernel has not taken yet. */
size_t link_pending(const struct link *l);

/* In an acceptor's opened(): whether the peer wants to go on with an interrupted link. */
bool link_claims(const struct link *l);
/* Goes on with l over the connection of such a newcomer; l gives up a connection that it still has.
 * Destroys newcomer: return 0 from its opened(). -1 with why: it does not know l; refuse it. */
int link_adopt(struct link *l, struct link *newcomer, struct error *why);
/* In an acceptor's opened(): gives up the link, and destroys it. Its connection is the caller's
 * from now on, and the key of the way to the peer, which the peer's handshake makes, too: nothing
 * else protects what goes there. -1 with errno. */
int link_release(struct link *l, uint8_t ret_key[LINK_KEY]);
/* Tells the link that the peer's process has ended or is about to: an end of file, seen already or
 * to come, ends the link at once. After any other interruption the link waits as before. */
void link_peer_ends(struct link *l);
