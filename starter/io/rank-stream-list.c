/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-stream-list.c - the streams of each rank: the list of ranks, and their descriptors */
#include "starter/io/rank-io-private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"

struct rank_streams *streams_new(struct rank_io *io, struct rank_name name)
{
    struct rank_streams *r = must(calloc(1, sizeof(*r)));
    r->io = io;
    r->name = name;
    r->in.fd = -1;
    for (int k = 0; k < KINDS; k++)
        r->out[k] = (struct stream){.rank = r, .kind = k, .fd = -1};
    return r;
}

void stream_free(struct stream *s)
{
    loop_io_destroy(take_ptr(s->watch));
    cleanup_close(&s->fd);
}

void feed_free(struct feed *f)
{
    loop_io_destroy(take_ptr(f->watch));
    cleanup_close(&f->fd);
    buffer_free(&f->backlog);
}

void streams_free(struct rank_streams *r)
{
    for (int k = 0; k < KINDS; k++)
        stream_free(&r->out[k]);
    feed_free(&r->in);
    free(r);
}

void streams_add(struct rank_io *io, struct rank_streams *r)
{
    if (io->nranks == io->cap) {
        io->cap = io->cap ? io->cap * 2 : 16;
        io->ranks = must(reallocarray(io->ranks, io->cap, sizeof(*io->ranks)));
    }
    io->ranks[io->nranks++] = r;
}

struct rank_streams *streams_find(const struct rank_io *io, struct rank_name name)
{
    for (size_t i = 0; i < io->nranks; i++)
        if (rank_name_equal(io->ranks[i]->name, name))
            return io->ranks[i];
    return NULL;
}

void streams_release(struct rank_streams *r)
{
    struct rank_io *io = r->io;
    if (!r->has_ended || r->out[STDOUT].fd >= 0 || r->out[STDERR].fd >= 0 || r->in.is_credit_due)
        return;
    for (size_t i = 0; i < io->nranks; i++)
        if (io->ranks[i] == r) {
            io->ranks[i] = io->ranks[--io->nranks];
            break;
        }
    streams_free(r);
}

int streams_pipe(int ours, int *ret_ours, int *ret_child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *ret_ours = ends[ours];
    *ret_child = ends[!ours];
    return fd_set_nonblock(ends[ours], 1);
}
