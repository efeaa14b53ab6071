/* SPDX-License-Identifier: BSD-3-Clause */
/* link-retransmit.c - counts, keeps and acknowledges frames, so that another connection can go on
 *
 * Both ends count the frames; no frame carries its number. An ACK (8 bytes: number of frames
 * received) follows every LINK_ACK_BYTES, and the last frame after LINK_ACK_SECONDS. ACKs are not
 * counted, and the bound on kept frames does not hold them up: so two ends never wait for each
 * other's ACK. BYE is the last frame of a link that its owner ends. */
#include "common/must.h"
#include "wire/link/link-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "wire/transport/dial.h"
#include "wire/transport/tcp.h"

enum {
    LINK_ACK = 0xfe, /* frame types beside those of frame.h */
    LINK_BYE = 0xff,
    ACK_PAYLOAD = 8,
};

/* ---- life ------------------------------------------------------------------------------------ */

static void ack_time(void *arg)
{
    struct link *l = arg;
    if (l->session->owed && l->state == OPEN) {
        l->session->ack_due = 1;
        link_want_write(l);
    }
}

static void fill(struct link *l, const struct link_options *o)
{
    struct session *s = l->session;
    if (o->role == LINK_CONNECTOR) {
        memcpy(s->key, o->key, LINK_KEY);
        s->addresses = must(strdup(o->addresses ? o->addresses : ""));
        tcp_peer(l->in_fd, s->peer, sizeof(s->peer));
    }
    loop_timer_init(&s->ack, l->loop, ack_time, l);
    loop_timer_init(&s->tick, l->loop, link_resume_tick, l);
    loop_timer_init(&s->again, l->loop, link_resume_again, l);
}

void link_retransmit_create(struct link *l, const struct link_options *o)
{
    struct tcp_end end;
    l->options.addresses = NULL; /* the caller's */
    if (l->in_fd != l->out_fd || o->role == LINK_TRUSTED || !tcp_end_of(l->in_fd, false, &end))
        return;
    if (l->options.dead_seconds <= 0)
        l->options.dead_seconds = LINK_DEAD_SECONDS;
    if (l->options.resume_patience <= 0)
        l->options.resume_patience = RESUME_PATIENCE_SECONDS;
    if (l->options.resume_bytes == 0)
        l->options.resume_bytes = LINK_KEEP_BYTES;
    tcp_prepare(l->in_fd, l->options.dead_seconds);
    if (o->resume_seconds <= 0)
        return;
    l->session = must(calloc(1, sizeof(*l->session)));
    fill(l, o);
}

void link_retransmit_stop(struct link *l)
{
    struct session *s = l->session;
    if (!s)
        return;
    loop_timer_stop(&s->ack);
    loop_timer_stop(&s->tick);
    loop_timer_stop(&s->again);
    dial_destroy(take_ptr(s->dial));
}

void link_retransmit_destroy(struct link *l)
{
    struct session *s = l->session;
    if (!s)
        return;
    link_retransmit_stop(l);
    l->session = NULL;
    buffer_free(&s->kept);
    free(s->addresses);
    sodium_memzero(s, sizeof(*s));
    free(s);
}

/* ---- out ------------------------------------------------------------------------------------- */

static void to_wire(struct link *l, const uint8_t *frame, size_t n)
{
    if (l->cipher)
        link_cipher_encrypt(l, frame, n);
    else
        buffer_append(&l->wire, frame, n);
}

static int code_ack(struct link *l)
{
    struct session *s = l->session;
    uint8_t frame[FRAME_HEADER + ACK_PAYLOAD];
    struct frame_header h = {.length = ACK_PAYLOAD, .type = LINK_ACK};
    frame_header_pack(&h, frame);
    put64(frame + FRAME_HEADER, s->mine.received);
    s->ack_due = 0;
    s->owed = 0;
    loop_timer_stop(&s->ack);
    to_wire(l, frame, sizeof(frame));
    return 1;
}

/* Keeps the next frame of its queue. Returns 1; 0: there is none, or too much is kept already. */
static int keep_one(struct link *l)
{
    struct session *s = l->session;
    struct buffer *queue = buffer_len(&l->urgent) ? &l->urgent : &l->bulk;
    if (buffer_len(queue) == 0 || buffer_len(&s->kept) >= l->options.resume_bytes)
        return 0;
    size_t n = frame_length_at(buffer_ptr(queue));
    buffer_append(&s->kept, buffer_ptr(queue), n);
    buffer_consume(queue, n);
    s->sent++;
    return 1;
}

int link_retransmit_code(struct link *l)
{
    struct session *s = l->session;
    if (s->ended)
        return 0;
    if (s->ack_due)
        return code_ack(l);
    if (s->coded == buffer_len(&s->kept) && keep_one(l) == 0)
        return 0;
    const uint8_t *frame = buffer_ptr(&s->kept) + s->coded;
    size_t n = frame_length_at(frame);
    to_wire(l, frame, n);
    s->coded += n;
    return 1;
}

size_t link_retransmit_pending(const struct link *l)
{
    const struct session *s = l->session;
    return buffer_len(&s->kept) - s->coded + (s->ack_due ? FRAME_HEADER + ACK_PAYLOAD : 0);
}

void link_retransmit_watch(struct link *l)
{
    double every = l->options.dead_seconds / LINK_WATCHES;
    if (!loop_timer_is_active(&l->session->tick))
        loop_timer_start(&l->session->tick, every, every);
}

void link_retransmit_rewind(struct link *l)
{
    struct session *s = l->session;
    s->coded = 0;
    s->ack_due = 0; /* the handshake has the number */
    s->owed = 0;
    s->owing_since = 0;
    loop_timer_stop(&s->ack);
    loop_timer_stop(&s->tick);
}

/* Closes so that the peer reads all that was written: with unread data in the socket the kernel
 * would send a reset, and drop what is under way. */
static void close_softly(int fd)
{
    char junk[4096];
    shutdown(fd, SHUT_WR);
    for (size_t n = 0; n < LINK_DRAIN_MAX; n += sizeof(junk))
        if (recv(fd, junk, sizeof(junk), MSG_DONTWAIT) <= 0)
            break;
}

void link_retransmit_bye(struct link *l)
{
    uint8_t frame[FRAME_HEADER];
    struct frame_header h = {.type = LINK_BYE};
    link_enter(l);
    link_flush(l);
    frame_header_pack(&h, frame);
    if (l->state == OPEN && !l->deaf) {
        to_wire(l, frame, sizeof(frame));
        l->session->ended = 1;
        link_flush(l);
        if (l->state == OPEN)
            close_softly(l->out_fd);
    }
    l->depth--;
}

/* ---- in -------------------------------------------------------------------------------------- */

void link_retransmit_count(struct link *l, size_t bytes)
{
    struct session *s = l->session;
    s->mine.received++;
    s->owed += bytes;
    if (s->owed >= LINK_ACK_BYTES && !s->ack_due) {
        s->ack_due = 1;
        link_want_write(l);
    } else if (!loop_timer_is_active(&s->ack)) {
        loop_timer_start(&s->ack, LINK_ACK_SECONDS, 0);
    }
}

int link_retransmit_forget(struct link *l, uint64_t received)
{
    struct session *s = l->session;
    size_t n = 0;
    if (received < s->first || received > s->sent)
        return -1;
    for (uint64_t i = s->first; i < received; i++)
        n += frame_length_at(buffer_ptr(&s->kept) + n);
    buffer_consume(&s->kept, n);
    s->first = received;
    s->coded -= n < s->coded ? n : s->coded;
    if (buffer_len(&s->kept) == 0 && s->kept.cap > LINK_IDLE_BYTES)
        buffer_free(&s->kept);
    if (buffer_len(&l->wire) == 0 && l->wire.cap > LINK_IDLE_BYTES && buffer_len(&s->kept) == 0)
        buffer_free(&l->wire);
    return 0;
}

size_t link_retransmit_own(const uint8_t *frame)
{
    if (frame[4] == LINK_ACK)
        return FRAME_HEADER + ACK_PAYLOAD;
    return frame[4] == LINK_BYE ? FRAME_HEADER : 0;
}

static int bad_frame(struct link *l)
{
    return link_fails(l, EPROTO, "protocol error: an acknowledgement that cannot be");
}

int link_retransmit_take(struct link *l, const uint8_t *frame)
{
    struct session *s = l->session;
    if (get32(frame) != link_retransmit_own(frame) - FRAME_HEADER)
        return bad_frame(l);
    if (frame[4] == LINK_BYE && link_read_has_part(l))
        return link_fails(l, ECONNRESET, "closed in the middle of a message");
    if (frame[4] == LINK_BYE)
        return link_fails(l, 0, "closed");
    /* An ACK covers only what has gone out on this connection; the handshake covered the rest. */
    size_t not_coded = buffer_len(&s->kept) - s->coded;
    if (link_retransmit_forget(l, get64(frame + FRAME_HEADER)) < 0 ||
        buffer_len(&s->kept) < not_coded)
        return bad_frame(l);
    if (link_pending(l) > 0)
        link_want_write(l);
    return 0;
}
