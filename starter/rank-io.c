/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-io.c - the ranks of rank-io.h: their descriptors, their beginning and their end */
#include "starter/rank-io-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdio.h"
#include "wire/link.h"

static void check_idle(void *arg);

struct rank_io *rank_io_create(struct loop *loop, uint32_t window, void (*drained)(void *arg),
                               void *arg, struct error *err)
{
    struct rank_io *io = calloc(1, sizeof(*io));
    if (io)
        io->check = loop_defer_create(loop, check_idle, io);
    if (!io || !io->check) {
        free(io);
        error_errno(err, ENOMEM, "prepare the ranks' input and output");
        return NULL;
    }
    io->loop = loop;
    io->drained = drained;
    io->arg = arg;
    io->told_idle = 1;
    for (int k = 0; k < KINDS; k++)
        io->kinds[k].credit = window;
    return io;
}

/* ---- idleness and the end of a rank ---------------------------------------------------------- */

int rank_io_idle(const struct rank_io *io)
{
    return io->open_streams == 0 && (!io->link || link_bulk_pending(io->link) == 0);
}

static void check_idle(void *arg)
{
    struct rank_io *io = arg;
    if (!rank_io_idle(io) || io->told_idle)
        return;
    io->told_idle = 1;
    io->drained(io->arg); /* may destroy io */
}

static void rank_free(struct rank *r)
{
    for (int k = 0; k < KINDS; k++)
        stream_free(&r->out[k]);
    feed_free(&r->in);
    free(r);
}

void rank_io_destroy(struct rank_io *io)
{
    if (!io)
        return;
    int saved = errno;
    for (size_t i = 0; i < io->nranks; i++)
        rank_free(io->ranks[i]);
    free(io->ranks);
    loop_defer_destroy(io->check);
    free(io);
    errno = saved;
}

struct rank *rank_find(const struct rank_io *io, struct rank_name name)
{
    for (size_t i = 0; i < io->nranks; i++)
        if (rank_name_equal(io->ranks[i]->name, name))
            return io->ranks[i];
    return NULL;
}

void rank_release(struct rank *r)
{
    struct rank_io *io = r->io;
    if (!r->ended || r->out[STDOUT].fd >= 0 || r->out[STDERR].fd >= 0 || r->in.credit_due)
        return;
    for (size_t i = 0; i < io->nranks; i++)
        if (io->ranks[i] == r) {
            io->ranks[i] = io->ranks[--io->nranks];
            break;
        }
    rank_free(r);
}

void rank_io_writable(struct rank_io *io)
{
    if (!io->link)
        return;
    output_serve(io);
    loop_defer_schedule(io->check);
}

void rank_io_abandon(struct rank_io *io)
{
    for (size_t i = io->nranks; i-- > 0;) {
        struct rank *r = io->ranks[i];
        int both = r->out[STDERR].fd >= 0; /* the rank stays while stderr is open */
        stream_bound(&r->out[STDOUT]);
        if (both)
            stream_bound(&r->out[STDERR]);
    }
}

void rank_io_rank_ended(struct rank_io *io, struct rank_name name)
{
    struct rank *r = rank_find(io, name);
    if (!r)
        return;
    r->ended = 1;
    feed_close(r);
    rank_release(r);
}

void rank_io_set_link(struct rank_io *io, struct link *link)
{
    io->link = link;
    if (!link)
        return;
    for (size_t i = io->nranks; i-- > 0;) {
        struct rank *r = io->ranks[i];
        if (r->in.credit_due)
            feed_send_credit(r);
        rank_release(r);
    }
    rank_io_writable(io);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int add_rank(struct rank_io *io, struct rank *r)
{
    if (io->nranks == io->cap) {
        size_t cap = io->cap ? io->cap * 2 : 16;
        struct rank **grown = realloc(io->ranks, cap * sizeof(*grown));
        if (!grown)
            return -1;
        io->ranks = grown;
        io->cap = cap;
    }
    io->ranks[io->nranks++] = r;
    return 0;
}

int rank_pipe(int ours, int *ret_ours, int *ret_child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *ret_ours = ends[ours];
    *ret_child = ends[!ours];
    return fd_set_nonblock(ends[ours], 1);
}

static int open_pipes(struct rank *r, const struct rank_io_wish *wish, int child_fds[3])
{
    if (wish->input && feed_open(r, wish->slow, &child_fds[0]) < 0)
        return -1;
    for (int k = 0; k < KINDS; k++)
        if (rank_pipe(0, &r->out[k].fd, &child_fds[k + 1]) < 0 || stream_watch(r, k) < 0)
            return -1;
    return add_rank(r->io, r);
}

/* The rank has the terminal thrice. We have its other end twice: output, and input. */
static int open_terminal(struct rank *r, const struct rank_io_wish *wish, int child_fds[3])
{
    int *output = &r->out[STDOUT].fd;
    if (tty_open_pair(wish->terminal, output, &child_fds[0]) < 0)
        return -1;
    for (int i = 1; i <= 2; i++)
        if ((child_fds[i] = fcntl(child_fds[0], F_DUPFD_CLOEXEC, 3)) < 0)
            return -1;
    int input = fcntl(*output, F_DUPFD_CLOEXEC, 3);
    if (input < 0 || feed_open_terminal(r, wish->slow, input) < 0 || stream_watch(r, STDOUT) < 0)
        return -1;
    return add_rank(r->io, r);
}

static void start_streams(struct rank *r)
{
    struct rank_io *io = r->io;
    io->told_idle = 0;
    io->open_streams += KINDS;
    for (int k = 0; k < KINDS; k++)
        if (io->kinds[k].closed || r->out[k].fd < 0) /* a terminal has one stream for both */
            stream_end(&r->out[k]);
    if (r->in.fd >= 0)
        feed_give_credit(r);
}

static struct rank *new_rank(struct rank_io *io, struct rank_name name)
{
    struct rank *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->io = io;
    r->name = name;
    r->in.fd = -1;
    for (int k = 0; k < KINDS; k++)
        r->out[k] = (struct stream){.rank = r, .kind = k, .fd = -1};
    return r;
}

int rank_io_open(struct rank_io *io, struct rank_name name, const struct rank_io_wish *wish,
                 int ret_child_fds[3], struct error *err)
{
    char text[RANK_NAME_TEXT];
    int fds[3] = {-1, -1, -1};
    struct rank *r = new_rank(io, name);
    int result = !r ? -1 : wish->terminal ? open_terminal(r, wish, fds) : open_pipes(r, wish, fds);
    if (result < 0) {
        int code = r ? errno : ENOMEM;
        if (r)
            rank_free(r);
        rank_io_close_child_ends(fds);
        return error_errno(err, code, "make %s for rank %s",
                           wish->terminal ? "a terminal" : "pipes", rank_name_format(name, text));
    }
    memcpy(ret_child_fds, fds, sizeof(fds));
    start_streams(r);
    return 0;
}

void rank_io_resize(struct rank_io *io, const struct tty_size *size)
{
    for (size_t i = 0; i < io->nranks; i++)
        if (io->ranks[i]->in.terminal && io->ranks[i]->out[STDOUT].fd >= 0)
            tty_set_size(io->ranks[i]->out[STDOUT].fd, size);
}

void rank_io_close_child_ends(int child_fds[3])
{
    for (int i = 0; i < 3; i++) {
        if (child_fds[i] >= 0)
            close(child_fds[i]);
        child_fds[i] = -1;
    }
}
