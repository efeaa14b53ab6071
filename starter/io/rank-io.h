/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-io.h - standard input and output of a host's ranks: output up the link, input down to ranks
 *
 * Output is read from a rank's pipe straight into the link, and only while that stream has credit
 * and the link has room. Nothing is buffered here: a reader that stalls stops the ranks that write
 * to that stream and nothing else. Each stream ends with an end-of-stream frame.
 *
 * Input comes by credit. A fast source (a file) fills an ordinary pipe, and credit is given for
 * what went into the pipe. A slow source (a pipe, a terminal, a socket) cannot take back what was
 * read from it: the rank's pipe is one page, so that the kernel tells when the rank has read
 * everything, and credit is given for what the rank has read. When the rank ends or closes its
 * input, the launcher is told exactly how much the rank has read.
 *
 * A rank with a terminal has one stream, stdout, for all that it writes there. Nothing tells what
 * the rank has read from a terminal: credit is given for what the terminal took.
 *
 * SIGPIPE must be ignored in this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/loop.h"
#include "common/tty.h"
#include "model/rank-name.h"

struct link;

enum { STDOUT, STDERR, KINDS };

struct kind {                    /* stdout or stderr of all ranks */
    uint64_t credit;             /* bytes that the launcher still takes */
    bool is_closed;              /* the launcher has nowhere to write it */
    struct stream *first, *last; /* readable, but without credit or room */
};

struct rank_io { /* private to io/; as zero there are no ranks, and input and events are ignored */
    struct loop *loop;
    struct link *link;
    struct rank_streams **ranks;
    size_t nranks, cap;
    size_t open_streams;
    struct kind kinds[KINDS];
    struct loop_defer check; /* looks whether all is idle now */
    bool told_idle;
    void (*drained)(void *arg);
    void *arg;
};

/* window: bytes of output that each stream may send before the launcher gives credit
 * (output_window(), wire/flow-control.h). drained is called each time rank_io_is_idle() becomes
 * true, and may free the rank_io. */
void rank_io_init(struct rank_io *io, struct loop *loop, uint32_t window,
                  void (*drained)(void *arg), void *arg);
/* Close all pipes; sends nothing. */
void rank_io_free(struct rank_io *io);

/* Set the link that frames go to. NULL: there is none, and output waits in the pipes. Sends input
 * credit that is due. */
void rank_io_set_link(struct rank_io *io, struct link *link);
/* The link has room again: call it in the link's `writable` event. */
void rank_io_writable(struct rank_io *io);

struct rank_io_wish {
    bool has_input;                  /* the rank gets standard input */
    bool is_slow;                    /* its source cannot take back what was read from it */
    const struct tty_size *terminal; /* a terminal of this size, with input, instead of pipes;
                                        NULL: pipes */
};
/* Make pipes, or a terminal, for a rank that is about to be started. ret_child_fds are the rank's
 * stdin, stdout and stderr; stdin is -1 when the rank has none. They are close-on-exec, and the
 * caller closes them by rank_io_close_child_ends() after the spawn, whether that succeeded or not.
 * 0, or -1 with err. */
int rank_io_open(struct rank_io *io, struct rank_name name, const struct rank_io_wish *wish,
                 int ret_child_fds[3], struct error *err);
void rank_io_close_child_ends(int child_fds[3]);
/* Give all ranks' terminals this size. */
void rank_io_resize(struct rank_io *io, const struct tty_size *size);

/* OUTPUT_CREDIT has come: the launcher takes so many bytes more of this stream. stream is 1 or 2;
 * others are ignored. */
void rank_io_output_credit(struct rank_io *io, unsigned stream, uint64_t bytes);
/* OUTPUT_CLOSED has come: the launcher has nowhere to write this stream. */
void rank_io_output_closed(struct rank_io *io, unsigned stream);

/* Something else than a rank's pipe is about to send n bytes of this stream: takes them off its
 * credit, which the launcher gives back. Returns whether anybody reads the stream. */
bool rank_io_spend(struct rank_io *io, unsigned stream, size_t n);

/* INPUT has come; n 0 is its end. Data for a rank that has gone, or closed its input, is dropped.
 * 0, or -1 with err: the launcher sent more than it had credit for, or memory is out; give up the
 * link then. */
int rank_io_input(struct rank_io *io, struct rank_name name, const uint8_t *data, size_t n,
                  struct error *err);

/* The rank was reaped, or could not be started: close its input and tell how much it has read. Its
 * output goes on to the end of file, which processes that it left behind may delay. */
void rank_io_rank_ended(struct rank_io *io, struct rank_name name);
/* All ranks were killed: send what is in the pipes now, as credit comes, and do not wait for
 * processes that still have them open. */
void rank_io_abandon(struct rank_io *io);

/* Have all output streams ended, and was everything handed to the kernel? */
bool rank_io_is_idle(const struct rank_io *io);
