/* SPDX-License-Identifier: BSD-3-Clause */
/* link-splice.c - frames of unencrypted links whose data goes from pipe to socket, and back, by
 * splice(2), so that it is never copied */
#include "wire/link/link-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Queues the rest of an open frame that could not be moved: it goes out first. */
static int queue_rest(struct link *l, const uint8_t *head, size_t head_left, int fd, size_t left)
{
    uint8_t *to = buffer_reserve(&l->bulk, head_left + left);
    if (!to)
        return -1;
    memcpy(to, head + MOVE_HEADER - head_left, head_left);
    for (size_t got = 0; got < left;) {
        ssize_t n = read(fd, to + head_left + got, left - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        got += (size_t)n;
    }
    buffer_commit(&l->bulk, head_left + left);
    l->bulk_open = head_left + left;
    l->bulk_waited = 1;
    link_want_write(l);
    return 0;
}

int link_bulk_move(struct link *l, enum frame_type type, const struct bulk_header *bh, int fd,
                   size_t n)
{
    uint8_t head[MOVE_HEADER];
    struct frame_header h = {
        .length = (uint32_t)(BULK_HEADER + n), .type = (uint8_t)type, .host = l->host};
    if (l->state != OPEN || l->cipher || l->session || l->deaf || n < LINK_SPLICE_MIN ||
        link_pending(l) > 0)
        return 0;
    frame_header_pack(&h, head);
    bulk_header_pack(bh, head + FRAME_HEADER);
    ssize_t w = write(l->out_fd, head, sizeof(head));
    if (w <= 0)
        return 0;
    size_t left = n;
    while (w == (ssize_t)sizeof(head) && left > 0) {
        ssize_t moved = splice(fd, NULL, l->out_fd, NULL, left, SPLICE_F_NONBLOCK);
        if (moved <= 0)
            break;
        left -= (size_t)moved;
    }
    if ((left > 0 || w < (ssize_t)sizeof(head)) &&
        queue_rest(l, head, sizeof(head) - (size_t)w, fd, left) < 0)
        link_fails(l, EPROTO, "write to %s: data for it was not where it was seen", l->name);
    return 1;
}

/* Frames of this kind come one after the other: read to the end of the one that has begun, or the
 * header of the next, and not further, so that its data is still in the kernel. */
size_t link_splice_boundary(const struct link *l)
{
    size_t have = buffer_len(&l->in);
    if (have < MOVE_HEADER)
        return MOVE_HEADER - have;
    size_t frame = frame_length_at(buffer_ptr(&l->in));
    return frame > have && frame - have < LINK_READ_MAX ? frame - have : LINK_READ_MAX;
}

/* Is what was read the header of a large FRAME_OUTPUT? Then it is being moved now. */
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

/* The rest of the frame is to be read after all: make it a frame of its own. */
static void stop_moving(struct link *l)
{
    uint8_t head[MOVE_HEADER];
    struct frame_header h = {.length = (uint32_t)(BULK_HEADER + l->move_left),
                             .type = FRAME_OUTPUT,
                             .host = l->frame_host};
    frame_header_pack(&h, head);
    bulk_header_pack(&l->moving, head + FRAME_HEADER);
    l->move_left = 0;
    if (buffer_append(&l->in, head, sizeof(head)) < 0)
        link_no_memory(l);
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
