/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/link/link-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* n bytes of a queue went out: counts how much of its last, cut frame is left to send. */
static void sent_from(struct buffer *queue, size_t *open, size_t n)
{
    size_t done = n < *open ? n : *open;
    *open -= done;
    buffer_consume(queue, done);
    n -= done;
    while (n > 0) {
        size_t frame = frame_length_at(buffer_ptr(queue));
        size_t part = n < frame ? n : frame;
        *open = frame - part;
        buffer_consume(queue, part);
        n -= part;
    }
}

static ssize_t write_parts(struct link *l)
{
    struct iovec v[3];
    int nv = 0;
    size_t bulk_first = l->bulk_open;
    if (bulk_first)
        v[nv++] = (struct iovec){buffer_ptr(&l->bulk), bulk_first};
    if (buffer_len(&l->urgent))
        v[nv++] = (struct iovec){buffer_ptr(&l->urgent), buffer_len(&l->urgent)};
    if (buffer_len(&l->bulk) > bulk_first)
        v[nv++] =
            (struct iovec){buffer_ptr(&l->bulk) + bulk_first, buffer_len(&l->bulk) - bulk_first};
    if (nv == 0)
        return 0;
    ssize_t n = nv == 1 ? write(l->out_fd, v[0].iov_base, v[0].iov_len) : writev(l->out_fd, v, nv);
    if (n <= 0)
        return n;
    size_t left = (size_t)n, part = left < bulk_first ? left : bulk_first;
    sent_from(&l->bulk, &l->bulk_open, part);
    left -= part;
    part = left < buffer_len(&l->urgent) ? left : buffer_len(&l->urgent);
    sent_from(&l->urgent, &l->urgent_open, part);
    left -= part;
    sent_from(&l->bulk, &l->bulk_open, left);
    return n;
}

static ssize_t write_plain(struct link *l)
{
    if (l->urgent_open) { /* a control frame was cut: it ends first */
        ssize_t n = write(l->out_fd, buffer_ptr(&l->urgent), buffer_len(&l->urgent));
        if (n > 0)
            sent_from(&l->urgent, &l->urgent_open, (size_t)n);
        return n;
    }
    return write_parts(l);
}

/* Puts the next frame into the wire's form. Returns 1; 0: there is none. */
static int code_one(struct link *l)
{
    struct buffer *queue = buffer_len(&l->urgent) ? &l->urgent : &l->bulk;
    if (l->session)
        return link_retransmit_code(l);
    if (buffer_len(queue) == 0)
        return 0;
    size_t n = frame_length_at(buffer_ptr(queue));
    link_cipher_encrypt(l, buffer_ptr(queue), n);
    buffer_consume(queue, n);
    return 1;
}

static ssize_t write_coded(struct link *l)
{
    while (buffer_len(&l->wire) < LINK_WIRE_QUEUE && code_one(l) > 0)
        ;
    if (l->session)
        link_retransmit_watch(l);
    return buffer_len(&l->wire) ? buffer_write(&l->wire, l->out_fd) : 0;
}

static ssize_t write_some(struct link *l)
{
    ssize_t n;
    do {
        if (buffer_len(&l->shake_out))
            n = buffer_write(&l->shake_out, l->out_fd);
        else if (l->state != OPEN)
            n = 0; /* frames wait for the end of the handshake */
        else
            n = l->cipher || l->session ? write_coded(l) : write_plain(l);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* The peer has gone. What it sent before is still to be read, and reading reports the end. If the
 * end never comes (two pipes of which other processes hold one), the time limit ends the link. */
static void peer_is_deaf(struct link *l)
{
    l->deaf = 1;
    buffer_free(&l->shake_out);
    buffer_free(&l->wire);
    if (!l->session) {
        buffer_free(&l->urgent);
        buffer_free(&l->bulk);
        l->urgent_open = l->bulk_open = 0;
    }
    loop_timer_start(&l->limit, LINK_DEAF_SECONDS, 0);
}

/* Writes. Returns 1: all that can go is out; 0: the kernel takes no more now; -1: the link died. */
static int push(struct link *l)
{
    while (l->out_fd >= 0 && !l->deaf && link_pending(l) > 0) {
        ssize_t n = write_some(l);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0) {
            struct error e;
            if (errno == EPIPE || errno == ECONNRESET) {
                peer_is_deaf(l);
                return 1;
            }
            error_errno(&e, errno, "write to %s", l->name);
            link_interrupted(l, &e);
            return -1;
        }
        if (n == 0)
            break;
    }
    return 1;
}

int link_flush(struct link *l)
{
    return l->state == DEAD || (push(l) == 1 && link_pending(l) == 0);
}

/* Frees the buffer of a long message, unless output flows: the next message will need as much. */
static void give_back(struct link *l)
{
    if (l->urgent.cap > LINK_IDLE_BYTES)
        buffer_free(&l->urgent);
    if (l->wire.cap > LINK_IDLE_BYTES)
        buffer_free(&l->wire);
}

void link_write_ready(struct link *l)
{
    int had_bulk = l->bulk_waited;
    int done = push(l);
    l->bulk_waited = buffer_len(&l->bulk) > 0;
    if (done == 1 && l->out_io)
        loop_io_set(l->out_io, loop_io_events(l->out_io) & ~LOOP_WRITE);
    if (done == 1 && !had_bulk && link_pending(l) == 0)
        give_back(l);
    if (done >= 0 && had_bulk && l->events->writable && link_bulk_room(l) > 0) {
        link_enter(l);
        l->events->writable(l->arg, l);
        link_leave(l);
    }
}

/* ---- large frames, whose data comes from a pipe by splice(2) and is never copied ---- */

/* Queues the rest of an open frame that could not be moved: it goes out first. */
static int queue_rest(struct link *l, const uint8_t *head, size_t head_left, int fd, size_t left)
{
    uint8_t *to = buffer_reserve(&l->bulk, head_left + left);
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
