/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-descriptors.c - begins and ends the streams of each rank (rank-io.h) */
#include "starter/io/rank-io-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "wire/link/link.h"

/* ---- life ------------------------------------------------------------------------------------ */

bool rank_io_is_idle(const struct rank_io *io)
{
    return io->open_streams == 0 && (!io->link || link_bulk_pending(io->link) == 0);
}

static void check_idle(void *arg)
{
    struct rank_io *io = arg;
    if (!rank_io_is_idle(io) || io->told_idle)
        return;
    io->told_idle = true;
    io->drained(io->arg); /* may destroy io */
}

void rank_io_init(struct rank_io *io, struct loop *loop, uint32_t window,
                  void (*drained)(void *arg), void *arg)
{
    *io = (struct rank_io){.loop = loop, .drained = drained, .arg = arg, .told_idle = true};
    loop_defer_init(&io->check, loop, check_idle, io);
    for (int k = 0; k < KINDS; k++)
        io->kinds[k].credit = window;
}

void rank_io_free(struct rank_io *io)
{
    for (size_t i = 0; i < io->nranks; i++)
        streams_free(io->ranks[i]);
    free(io->ranks);
    loop_defer_stop(&io->check);
}

void rank_io_writable(struct rank_io *io)
{
    if (!io->link)
        return;
    output_serve(io);
    loop_defer_schedule(&io->check);
}

void rank_io_abandon(struct rank_io *io)
{
    for (size_t i = io->nranks; i-- > 0;) {
        struct rank_streams *r = io->ranks[i];
        int both = r->out[STDERR].fd >= 0; /* the rank stays while stderr is open */
        stream_bound(&r->out[STDOUT]);
        if (both)
            stream_bound(&r->out[STDERR]);
    }
}

void rank_io_rank_ended(struct rank_io *io, struct rank_name name)
{
    struct rank_streams *r = streams_find(io, name);
    if (!r)
        return;
    r->has_ended = true;
    feed_close(r);
    streams_release(r);
}

void rank_io_set_link(struct rank_io *io, struct link *link)
{
    io->link = link;
    if (!link)
        return;
    for (size_t i = io->nranks; i-- > 0;) {
        struct rank_streams *r = io->ranks[i];
        if (r->in.is_credit_due)
            feed_send_credit(r);
        streams_release(r);
    }
    rank_io_writable(io);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_pipes(struct rank_streams *r, const struct rank_io_wish *wish, int child_fds[3])
{
    if (wish->has_input && feed_open(r, wish->is_slow, &child_fds[0]) < 0)
        return -1;
    for (int k = 0; k < KINDS; k++) {
        if (streams_pipe(0, &r->out[k].fd, &child_fds[k + 1]) < 0)
            return -1;
        stream_watch(r, k);
    }
    return 0;
}

/* The rank gets the terminal as stdin, stdout and stderr. We keep two copies of its other end, one
 * for output and one for input. */
static int open_terminal(struct rank_streams *r, const struct rank_io_wish *wish, int child_fds[3])
{
    int *output = &r->out[STDOUT].fd;
    if (tty_open_pair(wish->terminal, output, &child_fds[0]) < 0)
        return -1;
    for (int i = 1; i <= 2; i++)
        if ((child_fds[i] = fcntl(child_fds[0], F_DUPFD_CLOEXEC, 3)) < 0)
            return -1;
    int input = fcntl(*output, F_DUPFD_CLOEXEC, 3);
    if (input < 0)
        return -1;
    feed_open_terminal(r, wish->is_slow, input);
    stream_watch(r, STDOUT);
    return 0;
}

static void start_streams(struct rank_streams *r)
{
    struct rank_io *io = r->io;
    io->told_idle = false;
    io->open_streams += KINDS;
    for (int k = 0; k < KINDS; k++)
        if (io->kinds[k].is_closed || r->out[k].fd < 0) /* a terminal has one stream for both */
            stream_end(&r->out[k]);
    if (r->in.fd >= 0)
        feed_give_credit(r);
}

int rank_io_open(struct rank_io *io, struct rank_name name, const struct rank_io_wish *wish,
                 int ret_child_fds[3], struct error *err)
{
    char text[RANK_NAME_TEXT];
    int fds[3] = {-1, -1, -1};
    struct rank_streams *r = streams_new(io, name);
    if ((wish->terminal ? open_terminal(r, wish, fds) : open_pipes(r, wish, fds)) < 0) {
        int code = errno;
        streams_free(r);
        rank_io_close_child_ends(fds);
        return error_errno(err, code, "make %s for rank %s",
                           wish->terminal ? "a terminal" : "pipes", rank_name_format(name, text));
    }
    streams_add(io, r);
    memcpy(ret_child_fds, fds, sizeof(fds));
    start_streams(r);
    return 0;
}

void rank_io_resize(struct rank_io *io, const struct tty_size *size)
{
    for (size_t i = 0; i < io->nranks; i++)
        if (io->ranks[i]->in.is_terminal && io->ranks[i]->out[STDOUT].fd >= 0)
            tty_set_size(io->ranks[i]->out[STDOUT].fd, size);
}

void rank_io_close_child_ends(int child_fds[3])
{
    for (int i = 0; i < 3; i++)
        cleanup_close(&child_fds[i]);
}
