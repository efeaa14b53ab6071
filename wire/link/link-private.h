/* SPDX-License-Identifier: BSD-3-Clause */
/* link-private.h - what the files of a link share
 *
 *     link.c             creates and destroys it, reports its death; readable and writable
 *     link-handshake.c   does the handshake on a connection
 *     link-cipher.c      encrypts frames, or only authenticates them, as records
 *     link-queue.c       puts frames into the queues
 *     link-write.c       writes the queues into the descriptor, or moves large frames
 *     link-read.c        takes frames out of what was read, messages out of frames; or moves them
 *     link-retransmit.c  numbers frames and keeps them until they are acknowledged
 *     link-resume.c      bridges the time between two connections
 *
 * Two queues hold whole frames: urgent (control) and bulk. The link finishes a frame that has begun
 * to go out; then urgent frames go ahead of bulk frames. It encrypts a frame when the frame leaves
 * its queue, because the cipher stream has an order of its own. The handshake's bytes have a queue
 * of their own ahead of both: frames that are sent early wait until the peer has proved the key. */
#pragma once

#include <sodium.h>
#include <stdbool.h>

#include "common/buffer.h"
#include "wire/link/key-proof.h"
#include "wire/link/link.h"
#include "wire/tunables.h"
#include "wire/little-endian.h"

enum {
    CIPHER_HEADER = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
    CIPHER_EXTRA = crypto_secretstream_xchacha20poly1305_ABYTES,
    MAC_EXTRA = crypto_aead_chacha20poly1305_ietf_ABYTES,
    RECORD_HEADER = 4,
    MOVE_HEADER = FRAME_HEADER + BULK_HEADER,
};

enum link_state { SKIP_NOISE, SHAKE_FIRST, SHAKE_SECOND, OPEN, LOST, DEAD };

struct cipher {
    struct one_way {
        uint8_t key[32];  /* with LINK_ENCRYPT only until the stream below has begun */
        uint64_t records; /* LINK_MAC: records so far */
    } way_out, way_in;
    int mac; /* LINK_MAC: the members below are not used */
    crypto_secretstream_xchacha20poly1305_state out, in;
    int in_ready; /* the peer's stream header has come */
};

/* The part of a link that can be resumed. Frames go from their queue to `kept` and to the wire. ACK
 * and BYE belong to one connection: they have no number and are not kept. */
struct session {
    struct handshake_session mine;  /* id, and number of frames received */
    struct handshake_session claim; /* a newcomer's: the link that it wants to go on with */
    int begun;                      /* the peer knows the id */
    int ended;                      /* BYE is queued: nothing goes out after it */
    struct buffer kept;             /* whole frames that the peer has not acknowledged */
    uint64_t first, sent;           /* number of the first kept frame, and after the last */
    size_t coded;                   /* bytes of `kept` that went to the present connection */
    size_t owed;                    /* bytes received since our last ACK */
    int ack_due;
    struct loop_timer ack, tick, again;
    double owing_since; /* loop_now() since when the peer's kernel owes an answer; 0: it does not */
    /* between two connections */
    struct error why; /* why the connection was lost */
    int fresh;        /* lost, and the owner was not told yet */
    int peer_ends;    /* an end of file means that the peer's process has ended */
    double lost_at, last_tick, waited, allowed;
    /* a connector's */
    uint8_t key[LINK_KEY];
    char *addresses, peer[80]; /* to dial; the present one among them */
    struct dial *dial;
    double back_off;
    int only_peer; /* this try dials `peer` alone */
};

struct link {
    struct loop *loop;
    int in_fd, out_fd;
    struct loop_io *in_io, *out_io; /* the same watch when in_fd is out_fd */
    char name[128];
    const struct link_events *events;
    void *arg;
    enum link_state state;
    struct link_options options;
    struct handshake shake;
    struct loop_timer limit; /* for the handshake, or for the last messages of a deaf peer */
    int deaf;                /* the peer reads no more */
    struct loop_defer die;
    struct error death;
    struct buffer in, shake_out, urgent, bulk;
    struct buffer wire; /* bytes in the form in which they go out: records; frames of a link that
                           can be resumed */
    struct message {    /* under assembly from FRAME_MORE, one for each queue */
        struct buffer data;
        enum frame_type type;
        uint32_t host;
    } messages[2];
    uint32_t host;                 /* put into frames that are made */
    uint32_t frame_host;           /* of the frame that is being delivered */
    uint32_t heard;                /* times something was read */
    size_t urgent_open, bulk_open; /* bytes left of a frame that has begun to go out */
    size_t reserved;               /* data bytes of link_bulk_reserve() */
    size_t read_size;              /* LINK_READ_MIN to LINK_READ_MAX */
    int bulk_waited;
    int move_next;             /* the next frame may be moved: stop reading at its header */
    struct bulk_header moving; /* of the frame that is being moved */
    size_t move_left;          /* bytes of that frame still to move */
    struct cipher *cipher;
    struct session *session; /* NULL: the link dies with its connection */
    struct buffer noise;
    int depth;     /* callbacks on the stack */
    int destroyed; /* freed when depth falls to 0 */
};

static inline uint32_t frame_length_at(const uint8_t *p)
{
    return FRAME_HEADER + get32(p);
}

/* link.c. These two stand around every callback, because it may destroy the link. link_leave()
 * returns 1 when the link is gone: do not touch it. */
void link_enter(struct link *l);
int link_leave(struct link *l);
/* The link dies. The loop calls closed() later, never from inside link_send(). */
void link_dies(struct link *l, const struct error *why);
/* Does the same with an error made here. Returns 1. */
int link_fails(struct link *l, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void link_want_write(struct link *l);
void link_make_watches(struct link *l); /* for its descriptors */
void link_close_descriptors(struct link *l);

/* link-handshake.c */
void link_handshake_begin(struct link *l, const uint8_t *key);
void link_handshake_answer(struct link *l, enum handshake_answer answer); /* an acceptor's A2 */
double link_handshake_seconds(const struct link *l); /* the peer's time limit */
/* Goes on with what was read, until the link is open, dies, or needs more bytes. */
void link_handshake_take(struct link *l);
/* Makes a text of the bytes that came before the peer's magic. */
void link_handshake_end_noise(struct link *l);

/* link-cipher.c */
void link_cipher_begin(struct link *l);
void link_cipher_encrypt(struct link *l, const uint8_t *frame, size_t n);
int link_cipher_take(struct link *l); /* 1: dead or gone */
void link_cipher_free(struct cipher *c);

/* link-queue.c */
int link_goes_behind(enum frame_type type); /* a control frame that goes after bulk frames */

/* link-write.c */
void link_write_ready(struct link *l); /* the descriptor is writable */

/* link-read.c */
void link_read_input(struct link *l); /* takes frames, and the handshake, out of what was read */
int link_read_frame(struct link *l, const struct frame_header *h,
                    const uint8_t *p); /* 1: stop, the link is dead or gone */
bool link_read_has_part(const struct link *l);
size_t link_splice_boundary(const struct link *l); /* most bytes to read now */
/* Returns 1 when what was read is the header of a frame that moves now. */
int link_splice_begin(struct link *l);
void link_splice_go_on(struct link *l);

/* link-retransmit.c */
void link_retransmit_create(struct link *l, const struct link_options *o);
void link_retransmit_destroy(struct link *l);
void link_retransmit_stop(struct link *l); /* the link is dead */
/* Puts one more frame on the wire. Returns 1; 0: there is none, or too many are kept. */
int link_retransmit_code(struct link *l);
size_t link_retransmit_pending(const struct link *l);
void link_retransmit_watch(struct link *l);               /* there was something to write */
void link_retransmit_count(struct link *l, size_t bytes); /* a frame was taken in */
/* Return the length of an ACK or BYE frame (0: another frame); take it (1: the link is dead). */
size_t link_retransmit_own(const uint8_t *frame);
int link_retransmit_take(struct link *l, const uint8_t *frame);
/* The peer has received all frames before number `received`. Returns -1 if that is impossible. */
int link_retransmit_forget(struct link *l, uint64_t received);
void link_retransmit_rewind(struct link *l); /* for another connection */
void link_retransmit_bye(struct link *l);

/* link-resume.c */
/* The connection has ended without a BYE: interrupts the link, or the link dies. */
void link_interrupted(struct link *l, const struct error *why);
void link_lost(struct link *l);    /* from the loop: tells the owner, and dials */
void link_resumed(struct link *l); /* the link has a connection again */
void link_resume_tick(void *link);
void link_resume_again(void *link);
