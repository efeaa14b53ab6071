/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/link/link-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"

/* Returns whether there is a peer to send to. A message that no peer takes ends the link here,
 * where it can be named. */
static bool can_send(struct link *l, enum frame_type type, size_t n)
{
    if (l->state == DEAD || (l->deaf && !l->session))
        return false;
    return n <= MESSAGE_MAX ||
           !link_fails(l, EMSGSIZE, "%s of %zu bytes is longer than a message may be (%d)",
                       frame_type_text(type), n, MESSAGE_MAX);
}

/* A host's last messages must not overtake its output. */
int link_goes_behind(enum frame_type type)
{
    return type == FRAME_REPORT || type == FRAME_CLEANED;
}

/* Makes room for a control frame in its queue, with its header. */
static uint8_t *begin_frame(struct link *l, uint32_t host, enum frame_type type, unsigned flags,
                            size_t n)
{
    struct frame_header h = {
        .length = (uint32_t)n, .type = (uint8_t)type, .flags = (uint8_t)flags, .host = host};
    struct buffer *queue = link_goes_behind(type) ? &l->bulk : &l->urgent;
    uint8_t *to = buffer_reserve(queue, FRAME_HEADER + n);
    frame_header_pack(&h, to);
    return to + FRAME_HEADER;
}

static void end_frame(struct link *l, enum frame_type type, size_t n)
{
    buffer_commit(link_goes_behind(type) ? &l->bulk : &l->urgent, FRAME_HEADER + n);
    l->bulk_waited |= link_goes_behind(type); /* writable() comes after this frame, too */
}

static void send_control(struct link *l, uint32_t host, enum frame_type type, const void *p,
                         size_t n)
{
    const uint8_t *at = p;
    if (!can_send(l, type, n))
        return;
    for (;;) {
        /* bulk data, with its header, has no parts */
        size_t part = n <= FRAME_PAYLOAD_MAX ? n : BULK_DATA_MAX;
        uint8_t *to = begin_frame(l, host, type, part < n ? FRAME_MORE : 0, part);
        if (part)
            memcpy(to, at, part);
        end_frame(l, type, part);
        n -= part;
        if (n == 0)
            break;
        at += part;
    }
    link_want_write(l);
}

void link_send_bytes(struct link *l, enum frame_type type, const void *p, size_t n)
{
    send_control(l, l->host, type, p, n);
}

void link_send(struct link *l, enum frame_type type, const ProtobufCMessage *m)
{
    link_send_to(l, l->host, type, m);
}

void link_send_to(struct link *l, uint32_t host, enum frame_type type, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    if (!can_send(l, type, n))
        return;
    if (n <= BULK_DATA_MAX) { /* straight into the queue */
        protobuf_c_message_pack(m, begin_frame(l, host, type, 0, n));
        end_frame(l, type, n);
        link_want_write(l);
        return;
    }
    AUTO_FREE uint8_t *packed = must(malloc(n));
    protobuf_c_message_pack(m, packed);
    send_control(l, host, type, packed, n);
}

static void commit(struct link *l, uint32_t host, enum frame_type type,
                   const struct bulk_header *bh, size_t n)
{
    struct frame_header h = {
        .length = (uint32_t)(BULK_HEADER + n), .type = (uint8_t)type, .host = host};
    uint8_t *to = l->bulk.data + l->bulk.end;
    if (l->state == DEAD || (l->deaf && !l->session) || n > l->reserved)
        return;
    frame_header_pack(&h, to);
    bulk_header_pack(bh, to + FRAME_HEADER);
    buffer_commit(&l->bulk, FRAME_HEADER + BULK_HEADER + n);
    l->reserved = 0;
    l->bulk_waited = 1; /* also when link_flush() takes it before the loop does */
    link_want_write(l);
}

void link_send_bulk_to(struct link *l, uint32_t host, enum frame_type type,
                       const struct bulk_header *h, const void *data, size_t n)
{
    uint8_t *to = link_bulk_reserve(l, n);
    if (n)
        memcpy(to, data, n);
    commit(l, host, type, h, n);
}

void link_relay(struct link *l, uint32_t host, enum frame_type type, const void *p, size_t n)
{
    bool bulk = type == FRAME_OUTPUT || type == FRAME_INPUT;
    struct bulk_header h;
    struct error e;
    if (!bulk)
        send_control(l, host, type, p, n);
    else if (n < BULK_HEADER || !can_send(l, type, n))
        return;
    else if (bulk_header_unpack(p, n, &h, &e) < 0)
        link_dies(l, &e);
    else
        link_send_bulk_to(l, host, type, &h, (const uint8_t *)p + BULK_HEADER, n - BULK_HEADER);
}

size_t link_bulk_room(const struct link *l)
{
    size_t used = buffer_len(&l->bulk);
    if (l->state != OPEN || used >= LINK_BULK_QUEUE)
        return 0;
    size_t room = LINK_BULK_QUEUE - used;
    return room < BULK_DATA_MAX ? room : BULK_DATA_MAX;
}

uint8_t *link_bulk_reserve(struct link *l, size_t n)
{
    uint8_t *to = buffer_reserve(&l->bulk, FRAME_HEADER + BULK_HEADER + n);
    l->reserved = n;
    return to + FRAME_HEADER + BULK_HEADER;
}

void link_bulk_commit(struct link *l, enum frame_type type, const struct bulk_header *h, size_t n,
                      int even_empty)
{
    if (n > 0 || even_empty)
        commit(l, l->host, type, h, n);
}

size_t link_bulk_pending(const struct link *l)
{
    return buffer_len(&l->bulk);
}

size_t link_pending(const struct link *l)
{
    return buffer_len(&l->shake_out) + buffer_len(&l->urgent) + buffer_len(&l->bulk) +
           buffer_len(&l->wire) + (l->session ? link_retransmit_pending(l) : 0);
}
