/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-io-private.h - the structs behind rank-io.h, and what its files offer each other
 *
 * rank-descriptors.c uses rank-output.c, which uses rank-input.c; all use rank-stream-list.c. */
#pragma once

#include "common/buffer.h"
#include "starter/io/rank-io.h"

struct stream { /* stdout or stderr of a rank */
    struct rank_streams *rank;
    int kind;
    int fd; /* read end; -1: the stream has ended */
    struct loop_io *watch;
    struct stream *next; /* in the list of waiting streams */
    bool is_waiting;
    bool is_bounded; /* after rank_io_abandon(): take `left` bytes more, and no others */
    size_t left;
    bool is_bulk; /* the last read gave much: move the next data instead of copying it */
};

struct feed { /* stdin of a rank */
    int fd; /* write end; after the pipe was closed a read end, to count what the rank left unread;
               -1: none */
    bool is_slow;         /* its source cannot take anything back (rank-io.h) */
    bool is_terminal;     /* fd is our end of a terminal */
    bool has_open_line;   /* of a terminal: the last byte did not end a line */
    bool ends;            /* the end of input has come: close the pipe after the backlog */
    bool is_credit_due;   /* send credit as soon as there is a link */
    bool was_told_closed; /* mprun knows that the rank takes no more input */
    struct loop_io *watch;
    struct buffer backlog;
    uint64_t received, written; /* bytes from mprun, bytes into the pipe */
    uint64_t limit;             /* the last credit that was sent: bytes in all */
    uint64_t consumed;          /* final, once the feed is closed */
};

struct rank_streams {
    struct rank_io *io;
    struct rank_name name;
    bool has_ended; /* the rank was reaped, or could not be started */
    struct stream out[KINDS];
    struct feed in;
};

/* ---- rank-stream-list.c ---------------------------------------------------------------------- */

struct rank_streams *streams_new(struct rank_io *io, struct rank_name name);
void streams_free(struct rank_streams *r);
void streams_add(struct rank_io *io, struct rank_streams *r);
struct rank_streams *streams_find(const struct rank_io *io, struct rank_name name); /* NULL: none */
/* Frees a rank that has ended and has no open stream; do not use r after this. */
void streams_release(struct rank_streams *r);
/* Makes a pipe. ours: 0 keeps the read end, 1 the write end; the other end goes to *ret_child. -1
 * with errno. */
int streams_pipe(int ours, int *ret_ours, int *ret_child);
void stream_free(struct stream *s); /* sends nothing */
void feed_free(struct feed *f);     /* sends nothing */

/* ---- rank-input.c ---------------------------------------------------------------------------- */

/* Makes the rank's stdin, a pipe whose other end goes to *ret_child. -1 with errno. */
int feed_open(struct rank_streams *r, bool is_slow, int *ret_child);
/* Makes the rank's stdin of a terminal. The feed owns fd, our end of it, from now on. */
void feed_open_terminal(struct rank_streams *r, bool is_slow, int fd);
/* The rank takes no more input: tells mprun how much it has read, once. */
void feed_close(struct rank_streams *r);
void feed_give_credit(struct rank_streams *r);
void feed_send_credit(struct rank_streams *r);

/* ---- rank-output.c --------------------------------------------------------------------------- */

void stream_watch(struct rank_streams *r, int kind); /* read it from now on */
/* Tells mprun that the stream has ended. Releases the rank when nothing else is open. */
void stream_end(struct stream *s);
/* From now on takes no more than what is in the stream now. */
void stream_bound(struct stream *s);
void output_serve(struct rank_io *io); /* read streams that waited for credit or room */
