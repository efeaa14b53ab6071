/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-io-private.h - what the files of rank-io.h share: rank-io.c (the ranks, their beginning and
 * end), rank-output.c and rank-input.c */
#ifndef STARTER_RANK_IO_PRIVATE_H
#define STARTER_RANK_IO_PRIVATE_H

#include "common/buffer.h"
#include "common/loop.h"
#include "starter/rank-io.h"

enum { STDOUT, STDERR, KINDS };

struct rank;

struct stream { /* stdout or stderr of a rank */
    struct rank *rank;
    int kind;
    int fd; /* read end; -1: ended */
    struct loop_io *watch;
    struct stream *next; /* in the list of waiting streams */
    int waiting;
    int bounded; /* after rank_io_abandon(): `left` bytes are still taken */
    size_t left;
    int bulk; /* the last read gave much: the next is worth moving instead of copying */
};

struct kind {
    uint64_t credit;
    int closed;                  /* nobody reads it any more */
    struct stream *first, *last; /* readable, but without credit or room */
};

struct feed { /* stdin of a rank */
    int fd;   /* write end; once `ended`, a read end that only counts what is left; -1: none */
    int slow;
    int terminal;  /* fd is our end of one */
    int line_open; /* of a terminal: the last byte ended no line */
    int ending;    /* INPUT_END came: the pipe is to be closed when the backlog is written */
    int ended;     /* it was closed */
    struct loop_io *watch;
    struct buffer backlog;
    uint64_t received, written; /* bytes from the launcher, bytes into the pipe */
    uint64_t limit;             /* last one told */
    int credit_due;             /* to be told as soon as there is a link */
    int closed;                 /* told as such */
    uint64_t consumed;          /* final, once closed */
};

struct rank {
    struct rank_io *io;
    struct rank_name name;
    int ended;
    struct stream out[KINDS];
    struct feed in;
};

struct rank_io {
    struct loop *loop;
    struct link *link;
    struct rank **ranks;
    size_t nranks, cap;
    size_t open_streams;
    struct kind kinds[KINDS];
    struct loop_defer *check; /* is it idle now? */
    int told_idle;
    void (*drained)(void *arg);
    void *arg;
};

struct rank *rank_find(const struct rank_io *io, struct rank_name name); /* NULL: none */
/* Forget a rank of which nothing can come any more. It must not be used after this. */
void rank_release(struct rank *r);
/* ours: 0 to keep the read end, 1 to keep the write end. The other one goes to *ret_child. */
int rank_pipe(int ours, int *ret_ours, int *ret_child);

int stream_watch(struct rank *r, int kind); /* from now on; -1 with errno */
/* Told up the link; the rank is released when nothing else is open. */
void stream_end(struct stream *s);
void stream_free(struct stream *s); /* says nothing to anybody */
/* No more than what is in it now is taken. */
void stream_bound(struct stream *s);
void output_serve(struct rank_io *io); /* what waited for credit or room */

/* -1 with errno; the rank's end goes to *ret_child. */
int feed_open(struct rank *r, int slow, int *ret_child);
/* fd: our end of the rank's terminal, the feed's from now on. */
int feed_open_terminal(struct rank *r, int slow, int fd);
/* The rank takes no more input: account for it, once. */
void feed_close(struct rank *r);
void feed_free(struct feed *f); /* says nothing to anybody */
void feed_give_credit(struct rank *r);
void feed_send_credit(struct rank *r);

#endif
