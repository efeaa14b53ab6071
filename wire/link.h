/* SPDX-License-Identifier: BSD-3-Clause */
/* link.h - frames over one connection: authenticated, optionally encrypted, bounded
 *
 * A link is made from connected descriptors. Unless it is trusted (a socketpair between our own
 * processes) it first proves the step key both ways (handshake.h). Control frames go out ahead of
 * bulk frames. The owner learns through its callbacks; a link may be destroyed in any of them.
 *
 * A link over TCP can outlive its connection, when both ends want it (resume_seconds): frames are
 * numbered and kept until the peer has acknowledged them; when a connection is lost, the connector
 * dials again, the acceptor's owner hands the new connection to the link that waits for it
 * (link_adopt()), and both go on where the other is: nothing is lost, nothing comes twice.
 * Meanwhile what is sent waits in the link, link_bulk_room() is 0. link_destroy() says goodbye, so
 * that the peer's closed() comes at once. */
#ifndef WIRE_LINK_H
#define WIRE_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/loop.h"
#include "wire/frame.h"

struct link;

enum link_role {
    LINK_TRUSTED,   /* no handshake, no encryption */
    LINK_CONNECTOR, /* proves first: a starter */
    LINK_ACCEPTOR,  /* the launcher */
};

/* Of frames, once both have proved the key. MAC: nobody else changes, repeats or leaves out any,
 * and who listens on the way can read them. */
enum link_security {
    LINK_PLAIN,
    LINK_ENCRYPT, /* nobody else reads or changes them */
    LINK_MAC,
};

struct link_events {
    /* Handshake done. host_id: the peer's (acceptor only). -1 refuses the peer and says why. */
    int (*opened)(void *arg, struct link *l, uint32_t host_id, struct error *why);
    /* One whole frame, or reassembled message. payload is valid during the call only. */
    void (*frame)(void *arg, struct link *l, enum frame_type type, const uint8_t *payload,
                  size_t n);
    /* n bytes of a FRAME_OUTPUT are still to be read from fd: take some of them with splice(2), so
     * that they are never copied, and return how many; 0: they have not come yet; -1: let me have
     * the rest as an ordinary frame with this header. May be NULL, and is called for large frames
     * of unencrypted links only. */
    ssize_t (*move)(void *arg, struct link *l, const struct bulk_header *h, int fd, size_t n);
    /* Bulk frames that waited have gone out: link_bulk_room() may have grown. May be NULL. */
    void (*writable)(void *arg, struct link *l);
    /* Of a link that can be resumed: its connection is lost and it waits for another; it is back
     * after so many seconds. May be NULL. */
    void (*lost)(void *arg, struct link *l, const struct error *why);
    void (*resumed)(void *arg, struct link *l, double seconds);
    /* The link is dead: why->code 0 with "closed" at a clean end of file, ECONNRESET when it ended
     * in the middle of a message. One that could be resumed: 0 when the peer said goodbye;
     * ECONNREFUSED when the peer's process is known to be gone, or has given the link up;
     * ECONNRESET when an end of file or reset was not followed by another connection within
     * resume_patience; ETIMEDOUT when there was none for resume_seconds. Called once. */
    void (*closed)(void *arg, struct link *l, const struct error *why);
};

struct link_options {
    enum link_role role;
    const uint8_t *key;          /* LINK_KEY bytes; copied; NULL when trusted */
    uint32_t host_id;            /* of a connector */
    enum link_security security; /* both ends must agree: it is part of what is proved */
    int skip_noise; /* connector's peer, or acceptor: skip text before the other's magic (stdio) */
    /* Over TCP only; ignored on anything else. */
    double resume_seconds;  /* how long to wait for another connection; 0: do not */
    double resume_patience; /* acceptor, after an end of file or reset, which is what a dead process
                               looks like; 0: 3 s */
    size_t resume_bytes;    /* kept until acknowledged, at most and one frame; 0: 1 MiB */
    double dead_seconds;    /* without an answer of the peer's kernel; 0: 12 s */
    const char *addresses;  /* where a connector dials again (address.h); copied */
};

enum { LINK_KEY = 32 };

/* Takes both descriptors (they may be the same) at once, also on failure, and makes them
 * non-blocking. name: for messages ("host vm"). */
struct link *link_create(struct loop *loop, int in_fd, int out_fd, const struct link_options *o,
                         const char *name, const struct link_events *events, void *arg,
                         struct error *err);
void link_destroy(struct link *l); /* closes; no callback. NULL is fine */
void link_set_events(struct link *l, const struct link_events *events, void *arg);
const char *link_name(const struct link *l);
/* The peer has proved itself, and the link is not dead; it may be interrupted. */
int link_is_open(const struct link *l);
/* How often something has come, of a link that has a connection now: 1; else 0. What comes may be
 * the peer's acknowledgement: its program is there. */
int link_heard(const struct link *l, uint32_t *ret_times);
/* Bytes that were skipped before the peer's magic, or up to the end of the link, as text without
 * control characters; "" when none. */
const char *link_noise(const struct link *l);

/* Frames that are made from now on carry this host: the sender up, the receiver down. */
void link_address(struct link *l, uint32_t host);
/* The host of the frame that is being delivered (or moved). */
uint32_t link_frame_host(const struct link *l);

/* Queue a control message; it waits for the end of the handshake. Errors show up as closed().
 * REPORT and CLEANED, a host's last words, go out behind bulk frames. */
void link_send(struct link *l, enum frame_type type, const ProtobufCMessage *m);
void link_send_bytes(struct link *l, enum frame_type type, const void *p, size_t n);

/* Queue a frame of another host as it came: bulk data of any amount, which its credit bounds. */
void link_relay(struct link *l, uint32_t host, enum frame_type type, const void *p, size_t n);

/* How many bytes of bulk data may be queued now; 0 while earlier ones wait. */
size_t link_bulk_room(const struct link *l);
/* Bytes of bulk frames that a control frame sent now would overtake. When there are some,
 * `writable` comes after they have gone. */
size_t link_bulk_pending(const struct link *l);
/* Put a bulk frame straight into the output: reserve room for at most n data bytes, fill them, and
 * commit what was filled (0 with commit 0 drops the reservation; end-of-stream frames commit 0 data
 * with `even_empty`). NULL: no memory. */
uint8_t *link_bulk_reserve(struct link *l, size_t n);
void link_bulk_commit(struct link *l, enum frame_type type, const struct bulk_header *h, size_t n,
                      int even_empty);
/* Make a bulk frame of n bytes that are in the pipe fd, read by nobody else, without copying them.
 * 1 when it is on its way; 0 when that cannot be now, or ever (encryption): reserve and commit
 * then. */
int link_bulk_move(struct link *l, enum frame_type type, const struct bulk_header *h, int fd,
                   size_t n);
/* Try to write everything that waits now, without blocking. 1 when nothing is left to send. */
int link_flush(struct link *l);
/* Take in, and deliver, what the peer has sent already, without waiting: for the last words of a
 * process that is known to have ended. closed() still comes from the loop. */
void link_read_rest(struct link *l);
/* Bytes queued and not yet taken by the kernel. */
size_t link_pending(const struct link *l);

/* In opened(), of an acceptor: the peer wants to go on with a link that was interrupted. */
int link_claims(const struct link *l);
/* Go on with l over the connection of such a newcomer, which is used up (return 0 from its
 * opened()). The connection that l still has, if any, is given up. -1 with why: newcomer does not
 * know this link; refuse it. */
int link_adopt(struct link *l, struct link *newcomer, struct error *why);
/* The peer's process has ended, or is about to end for good: an end of file, seen already or to
 * come, is the end of the link at once. An interruption of another kind is waited out as before. */
void link_peer_ends(struct link *l);
/* Bytes of frames that the peer has not acknowledged; 0 for links that cannot be resumed. */
size_t link_unacknowledged(const struct link *l);
#endif
