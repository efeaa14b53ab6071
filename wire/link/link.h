/* SPDX-License-Identifier: BSD-3-Clause */
/* link.h - frames over one connection: authenticated, optionally encrypted, bounded
 *
 * The caller makes a link from connected descriptors. First both ends prove that they know the step
 * key (key-proof.h), except on a trusted link, a socketpair between two of our own processes.
 * Control frames go out ahead of bulk frames. Callbacks tell the owner what happens; each of them
 * may destroy the link.
 *
 * A link over TCP can outlive its connection if both ends want that (resume_seconds). Both number
 * their frames and keep them until the peer acknowledges them. When a connection is lost, the
 * connector dials again, the acceptor's owner hands the new connection to the waiting link
 * (link_adopt()), and each end goes on with the first frame that the other has not received. In
 * between, frames wait in the link, and link_bulk_room() is 0. link_destroy() sends a goodbye, so
 * that the peer's closed() comes at once. */
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
    LINK_ENCRYPT, /* nobody else can read, change, repeat or drop a frame */
    LINK_MAC,     /* nobody else can change, repeat or drop a frame, but others can read them */
};

struct link_events {
    /* The handshake is done. host_id: the peer's (acceptor only). Return -1 with why to refuse. */
    int (*opened)(void *arg, struct link *l, uint32_t host_id, struct error *why);
    /* A whole frame or message has come. payload is valid during the call only. */
    void (*frame)(void *arg, struct link *l, enum frame_type type, const uint8_t *payload,
                  size_t n);
    /* n bytes of a FRAME_OUTPUT can still be read from fd. Moves some of them by splice(2), so that
     * they are never copied, and returns their number; 0: none has come yet; -1: the owner wants
     * the rest as an ordinary frame with this header. The link calls this only for large frames,
     * and only if it is unencrypted. May be NULL. */
    ssize_t (*move)(void *arg, struct link *l, const struct bulk_header *h, int fd, size_t n);
    /* Bulk frames that waited have gone out: link_bulk_room() may have grown. May be NULL. */
    void (*writable)(void *arg, struct link *l);
    /* Only if the link can be resumed. lost: its connection is lost, and it waits for another one.
     * resumed: it has one again, after so many seconds. May be NULL. */
    void (*lost)(void *arg, struct link *l, const struct error *why);
    void (*resumed)(void *arg, struct link *l, double seconds);
    /* The link is dead. Called once. why->code is 0 with "closed" at a clean end of file,
     * ECONNRESET in the middle of a message. For a link that could be resumed it is 0 when the peer
     * said goodbye; ECONNREFUSED when the peer's process is known to be gone, or has given up the
     * link; ECONNRESET when no connection followed an end of file or reset within resume_patience;
     * ETIMEDOUT when none came for resume_seconds. */
    void (*closed)(void *arg, struct link *l, const struct error *why);
};

struct link_options {
    enum link_role role;
    const uint8_t *key;          /* LINK_KEY bytes; copied; NULL if trusted */
    uint32_t host_id;            /* a connector's own */
    enum link_security security; /* both ends must want the same: the proofs cover it */
    int skip_noise;              /* skip text before the peer's magic (on a start channel) */
    /* Only over TCP; ignored elsewhere. 0 means the number in tunables.h. */
    double resume_seconds;  /* wait so long for another connection; 0: do not resume */
    double resume_patience; /* wait so long after an end of file or reset, because a dead process
                               looks like that (acceptor only) */
    size_t resume_bytes;    /* keep so many unacknowledged bytes, and one frame more, at most */
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
/* Returns true when the peer has proved the key and the link is not dead. The link may be without a
 * connection. */
bool link_is_open(const struct link *l);
/* Returns 1 and in *ret_times how often the link has read something, acknowledgements included: the
 * peer's program sent them. 0: there is no connection now. */
int link_heard(const struct link *l, uint32_t *ret_times);
/* Returns the text that came before the peer's magic, or before the end of the link, without
 * control characters; "" if there was none. */
const char *link_noise(const struct link *l);

/* Returns the host of the frame that is being delivered or moved now. */
uint32_t link_frame_host(const struct link *l);

/* Every frame carries a host: its sender on the way up, its receiver on the way down
 * (FRAME_EVERY_HOST: all hosts that this link reaches).
 *
 * Queues a control message; it goes out after the handshake. Errors come as closed(). REPORT and
 * CLEANED, a host's last messages, go out after bulk frames. */
void link_send_to(struct link *l, uint32_t host, enum frame_type type, const ProtobufCMessage *m);
/* Send with this end's own host (host_id). */
void link_send(struct link *l, enum frame_type type, const ProtobufCMessage *m);
void link_send_bytes(struct link *l, enum frame_type type, const void *p, size_t n);

/* Queues a packed payload of this host or another: a message; or bulk data, whose amount the host's
 * credit bounds, and not the link. */
void link_relay(struct link *l, uint32_t host, enum frame_type type, const void *p, size_t n);
/* Queues a bulk frame of n data bytes. */
void link_send_bulk_to(struct link *l, uint32_t host, enum frame_type type,
                       const struct bulk_header *h, const void *data, size_t n);

/* Returns how many bytes of bulk data may be queued now. */
size_t link_bulk_room(const struct link *l);
/* Returns the bytes of bulk frames that a control frame sent now would overtake. If there are some,
 * `writable` is called after they have gone out. */
size_t link_bulk_pending(const struct link *l);
/* Make a bulk frame in place: reserve room for at most n bytes of data, fill it, and commit the
 * bytes that were filled. Committing 0 drops the reservation; with `even_empty` it sends an empty
 * frame, the end of a stream. */
uint8_t *link_bulk_reserve(struct link *l, size_t n);
void link_bulk_commit(struct link *l, enum frame_type type, const struct bulk_header *h, size_t n,
                      int even_empty);
/* Makes a bulk frame of n bytes in the pipe fd, which only the caller reads, without copying them.
 * Returns 1 when the frame is on its way; 0: impossible now, or ever (encryption); reserve and
 * commit instead. */
int link_bulk_move(struct link *l, enum frame_type type, const struct bulk_header *h, int fd,
                   size_t n);
/* Writes as much of what waits as is possible without blocking. Returns 1 when nothing is left. */
int link_flush(struct link *l);
/* Reads and delivers everything that the peer has sent so far, without waiting: the last messages
 * of a process that has ended. closed() still comes from the loop. */
void link_read_rest(struct link *l);
/* Returns the bytes that the kernel has not taken yet. */
size_t link_pending(const struct link *l);

/* In an acceptor's opened(): returns whether the peer wants to go on with an interrupted link. */
bool link_claims(const struct link *l);
/* Goes on with l over the connection of such a newcomer; l closes a connection that it still has.
 * Destroys newcomer: return 0 from its opened(). -1 with why: it does not know l; refuse it. */
int link_adopt(struct link *l, struct link *newcomer, struct error *why);
/* In an acceptor's opened(): destroys the link, and gives its connection to the caller, with the
 * key of the direction to the peer, which the peer has, too. From now on only that key protects
 * what goes there. Returns the descriptor; -1 with errno. */
int link_release(struct link *l, uint8_t ret_key[LINK_KEY]);
/* The peer's process has ended or is about to: an end of file, already seen or to come, ends the
 * link at once. After any other interruption the link waits as before. */
void link_peer_ends(struct link *l);
