/* SPDX-License-Identifier: BSD-3-Clause */
/* link-private.h - what the files of a link share
 *
 *     link.c         its life: create, death, destruction; readable and writable
 *     link-shake.c   the handshake on a connection
 *     link-cipher.c  records: one encrypted, or only authenticated, frame each
 *     link-queue.c   frames into the queues
 *     link-write.c   the queues into the descriptor
 *     link-take.c    frames out of what was read, and messages out of frames
 *     link-move.c    frames whose data is never copied
 *     link-session.c frames numbered, kept and acknowledged: what a new connection goes on from
 *     link-resume.c  the time between two connections
 *
 * Two queues hold whole frames: urgent (control) and bulk. An open frame of either is finished
 * before anything else goes out; then urgent frames go ahead of bulk frames. Encryption happens
 * when a frame leaves its queue, because the cipher stream has an order of its own. The bytes of
 * the handshake have a queue of their own ahead of all: a frame may be sent before the peer has
 * proved itself, and waits for that. */
#ifndef WIRE_LINK_PRIVATE_H
#define WIRE_LINK_PRIVATE_H

#include <sodium.h>

#include "common/buffer.h"
#include "wire/bytes.h"
#include "wire/handshake.h"
#include "wire/link.h"

enum {
    READ_MIN = 1024, /* at once: more where a peer sends more */
    READ_MAX = 256 * 1024,
    BULK_QUEUE = 256 * 1024, /* bulk bytes that may wait */
    WIRE_QUEUE = 256 * 1024, /* encrypted bytes that may wait */
    IDLE_BYTES = 16 * 1024,  /* a link with nothing to do holds no more in a buffer */
    NOISE_MAX = 64 * 1024,
    CIPHER_HEADER = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
    CIPHER_EXTRA = crypto_secretstream_xchacha20poly1305_ABYTES,
    MAC_EXTRA = crypto_aead_chacha20poly1305_ietf_ABYTES,
    RECORD_HEADER = 4,
    MOVE_HEADER = FRAME_HEADER + BULK_HEADER,
    MOVE_MIN = 16 * 1024, /* less is copied as quickly */
};

enum link_state { SKIP_NOISE, SHAKE_FIRST, SHAKE_SECOND, SHAKE_THIRD, OPEN, LOST, DEAD };

struct cipher {
    int mac; /* LINK_MAC: only these two lines */
    struct mac {
        uint8_t key[crypto_aead_chacha20poly1305_ietf_KEYBYTES];
        uint64_t records;
    } mac_out, mac_in;
    crypto_secretstream_xchacha20poly1305_state out, in;
    int in_ready; /* the peer's header has come */
};

/* Of a link that can be resumed. Frames leave their queue for `kept`, and for the wire; only ACK
 * and BYE, which belong to a connection, are neither numbered nor kept. */
struct session {
    struct handshake_session mine;  /* id, and frames that were taken in */
    struct handshake_session claim; /* of a newcomer: what it wants to go on with */
    int begun;                      /* the peer knows the id */
    int ended;                      /* BYE is the last that goes out */
    struct buffer kept;             /* whole frames that are not acknowledged */
    uint64_t first, sent;           /* number of the first of them, and behind the last */
    size_t coded;                   /* bytes of them that went to the present connection */
    size_t owed;                    /* bytes taken in since the last ACK */
    int ack_due;
    struct loop_timer *ack, *tick, *again;
    double owing_since; /* the peer's kernel owes an answer since then; 0: it does not */
    /* between two connections */
    struct error why; /* the connection was lost */
    int fresh;        /* lost, and nobody told yet */
    int peer_ends;    /* an end of file is one of the peer's process */
    double lost_at, last_tick, waited, allowed;
    /* of a connector */
    uint8_t key[LINK_KEY];
    char *addresses, peer[80];
    struct dial *dial;
    double back_off;
    int only_peer;
};

struct link {
    struct loop *loop;
    int in_fd, out_fd;
    struct loop_io *in_io, *out_io; /* the same watch when the descriptors are */
    char name[128];
    const struct link_events *events;
    void *arg;
    enum link_state state;
    struct link_options options;
    struct handshake shake;
    struct loop_timer *limit; /* of the handshake, or of a peer that is deaf */
    int deaf;
    struct loop_defer *die;
    struct error death;
    struct buffer in, shake_out, urgent, bulk;
    struct buffer wire; /* what waits in the form in which it goes out: records; frames of a link
                           that can be resumed */
    struct message {    /* being put together from FRAME_MORE, one of each queue */
        struct buffer data;
        enum frame_type type;
        uint32_t host;
    } messages[2];
    uint32_t host;                 /* of frames that are made */
    uint32_t frame_host;           /* of the frame that is being delivered */
    uint32_t heard;                /* how often something was read */
    size_t urgent_open, bulk_open; /* bytes left of a frame that has begun to go out */
    size_t reserved;
    size_t read_size; /* READ_MIN to READ_MAX */
    int bulk_waited;
    int move_next;             /* the next frame may be one to move: stop reading at its header */
    struct bulk_header moving; /* of the frame of which move_left bytes are being moved */
    size_t move_left;
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

/* link.c. Around every callback: the link may be destroyed in it. link_leave(): 1 when the link is
 * gone and must not be touched. */
void link_enter(struct link *l);
int link_leave(struct link *l);
/* Reported from the loop, never from inside link_send(): senders need not expect it. */
void link_dies(struct link *l, const struct error *why);
void link_no_memory(struct link *l);
void link_want_write(struct link *l);
int link_make_watches(struct link *l); /* of its descriptors; -1: no memory */
void link_close_descriptors(struct link *l);

/* link-shake.c */
void link_shake_begin(struct link *l);
void link_shake_accept(struct link *l);          /* the newcomer that goes on with it */
void link_shake_again(struct link *l);           /* a connector, on another connection */
double link_shake_seconds(const struct link *l); /* how long the peer has */
/* Go on with what was read, until the link is open, or more is needed, or it died. */
void link_shake_take(struct link *l);
void link_shake_end_noise(struct link *l); /* what came before the peer's magic becomes a text */

/* link-cipher.c */
int link_cipher_begin(struct link *l);                                   /* -1: no memory */
int link_cipher_encrypt(struct link *l, const uint8_t *frame, size_t n); /* -1: no memory */
int link_cipher_take(struct link *l);                                    /* 1: dead or gone */
void link_cipher_free(struct cipher *c);

/* link-queue.c */
int link_goes_behind(enum frame_type type); /* of control frames: behind bulk frames */

/* link-write.c */
void link_write_ready(struct link *l); /* the descriptor is writable */

/* link-take.c */
void link_take_input(struct link *l); /* frames, and the handshake, out of what was read */
int link_take_frame(struct link *l, const struct frame_header *h,
                    const uint8_t *p); /* 1: stop, the link is dead or gone */
int link_take_in_parts(const struct link *l);

/* link-session.c */
int link_session_create(struct link *l, const struct link_options *o); /* -1: no memory */
void link_session_destroy(struct link *l);
void link_session_stop(struct link *l); /* the link is dead */
/* One more frame for the wire: 1; 0: there is none, or too much is not acknowledged; -1: no memory
 */
int link_session_code(struct link *l);
size_t link_session_pending(const struct link *l);
void link_session_watch(struct link *l);               /* there was something to write */
void link_session_count(struct link *l, size_t bytes); /* a frame was taken in */
/* ACK and BYE: the length of such a frame, 0 when it is none; take it: 1: the link is dead. */
size_t link_session_own(const uint8_t *frame);
int link_session_take(struct link *l, const uint8_t *frame);
/* The peer has all frames before this one. -1: that cannot be. */
int link_session_forget(struct link *l, uint64_t received);
void link_session_rewind(struct link *l); /* for another connection */
void link_session_bye(struct link *l);

/* link-resume.c */
/* The connection is no more, without the peer's word: interrupted, or dead. */
void link_interrupted(struct link *l, const struct error *why);
void link_lost(struct link *l);    /* from the loop: tell, and dial */
void link_resumed(struct link *l); /* it is back */
void link_resume_tick(struct link *l);
void link_resume_again(void *arg);

/* link-move.c */
size_t link_move_boundary(const struct link *l); /* how far to read, at most */
int link_move_begin(struct link *l); /* 1: what was read is the header of a frame that moves now */
void link_move_go_on(struct link *l);

#endif
