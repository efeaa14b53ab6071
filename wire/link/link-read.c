/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/link/link-private.h"

#include <errno.h>
#include <string.h>

static int deliver(struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    link_enter(l);
    l->events->frame(l->arg, l, type, p, n);
    return link_leave(l);
}

static int take_part(struct link *l, struct message *m, const struct frame_header *h,
                     const uint8_t *p)
{
    if (buffer_len(&m->data) && (m->type != h->type || m->host != h->host))
        return link_fails(l, EPROTO, "protocol error: %s inside of %s", frame_type_text(h->type),
                          frame_type_text(m->type));
    if (buffer_len(&m->data) + h->length > MESSAGE_MAX)
        return link_fails(l, EPROTO, "protocol error: %s longer than a message may be",
                          frame_type_text(h->type));
    m->type = h->type;
    m->host = h->host;
    buffer_append(&m->data, p, h->length);
    if (h->flags & FRAME_MORE)
        return 0;
    struct buffer whole = m->data;
    memset(&m->data, 0, sizeof(m->data));
    int gone = deliver(l, h->type, buffer_ptr(&whole), buffer_len(&whole));
    buffer_free(&whole);
    return gone;
}

bool link_read_has_part(const struct link *l)
{
    return buffer_len(&l->messages[0].data) || buffer_len(&l->messages[1].data);
}

int link_read_frame(struct link *l, const struct frame_header *h, const uint8_t *p)
{
    int bulk = h->type == FRAME_OUTPUT || h->type == FRAME_INPUT || link_goes_behind(h->type);
    struct message *m = &l->messages[bulk];
    l->frame_host = h->host;
    if (l->session)
        link_retransmit_count(l, FRAME_HEADER + h->length);
    if (h->flags & FRAME_MORE || buffer_len(&m->data))
        return take_part(l, m, h, p) || l->state != OPEN;
    return deliver(l, h->type, p, h->length) || l->state != OPEN;
}

static int take_plain_frames(struct link *l)
{
    struct error e;
    while (buffer_len(&l->in) >= FRAME_HEADER) {
        struct frame_header h;
        size_t own = l->session ? link_retransmit_own(buffer_ptr(&l->in)) : 0;
        if (own) {
            if (buffer_len(&l->in) < own)
                return 0;
            if (link_retransmit_take(l, buffer_ptr(&l->in)))
                return 1;
            buffer_consume(&l->in, own);
            continue;
        }
        if (frame_header_unpack(buffer_ptr(&l->in), &h, &e) < 0) {
            link_dies(l, &e);
            return 1;
        }
        if (buffer_len(&l->in) < FRAME_HEADER + h.length)
            return 0;
        /* the callback may destroy the link, but its buffers live until we return from it */
        link_enter(l);
        int stop = link_read_frame(l, &h, buffer_ptr(&l->in) + FRAME_HEADER);
        if (link_leave(l) || stop)
            return 1;
        buffer_consume(&l->in, FRAME_HEADER + h.length);
        l->move_next =
            l->events->move && !l->session && h.type == FRAME_OUTPUT && h.length >= LINK_SPLICE_MIN;
    }
    return 0;
}

void link_read_input(struct link *l)
{
    link_enter(l);
    link_handshake_take(l);
    if (!link_leave(l) && l->state == OPEN) {
        if (l->cipher)
            link_cipher_take(l);
        else
            take_plain_frames(l);
    }
}

/* ---- large frames, whose data goes on by splice(2) and is never copied ---- */

/* Frames that move come one after the other: reads to the end of the frame that has begun, or the
 * header of the next, and not further, so that its data is still in the kernel. */
size_t link_splice_boundary(const struct link *l)
{
    size_t have = buffer_len(&l->in);
    if (have < MOVE_HEADER)
        return MOVE_HEADER - have;
    size_t frame = frame_length_at(buffer_ptr(&l->in));
    return frame > have && frame - have < LINK_READ_MAX ? frame - have : LINK_READ_MAX;
}

/* If what was read is the header of a large FRAME_OUTPUT, begins to move that frame. */
int link_splice_begin(struct link *l)
{
    struct frame_header h;
    struct error e;
    if (!l->move_next || buffer_len(&l->in) != MOVE_HEADER || link_read_has_part(l))
        return 0;
    if (frame_header_unpack(buffer_ptr(&l->in), &h, &e) < 0 || h.type != FRAME_OUTPUT || h.flags ||
        h.length < BULK_HEADER + LINK_SPLICE_MIN ||
        bulk_header_unpack(buffer_ptr(&l->in) + FRAME_HEADER, BULK_HEADER, &l->moving, &e) < 0)
        return 0;
    buffer_consume(&l->in, MOVE_HEADER);
    l->frame_host = h.host;
    l->move_left = h.length - BULK_HEADER;
    return 1;
}

/* The owner wants the rest of the frame as bytes: makes it a frame of its own. */
static void stop_moving(struct link *l)
{
    uint8_t head[MOVE_HEADER];
    struct frame_header h = {.length = (uint32_t)(BULK_HEADER + l->move_left),
                             .type = FRAME_OUTPUT,
                             .host = l->frame_host};
    frame_header_pack(&h, head);
    bulk_header_pack(&l->moving, head + FRAME_HEADER);
    l->move_left = 0;
    buffer_append(&l->in, head, sizeof(head));
}

void link_splice_go_on(struct link *l)
{
    link_enter(l);
    ssize_t n = l->events->move(l->arg, l, &l->moving, l->in_fd, l->move_left);
    if (link_leave(l) || l->state == DEAD)
        return;
    if (n < 0 || (size_t)n > l->move_left)
        stop_moving(l);
    else
        l->move_left -= (size_t)n;
}
