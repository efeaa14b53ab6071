/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-io.h - standard input and output of a host's ranks: output up the link, input down to ranks
 *
 * rank_io reads output from a rank's pipe straight into the link, and only while that stream has
 * credit and the link has room. It buffers nothing: a reader that stalls stops the ranks that write
 * to that stream and nothing else. Each stream ends with an end-of-stream frame.
 *
 * mprun sends input as far as it has credit. A fast source (a file) fills an ordinary pipe, and
 * rank_io gives credit for what went into the pipe. A slow source (a pipe, a terminal, a socket)
 * cannot take back what was read from it: the rank's pipe is one page, so that the kernel tells
 * when the rank has read everything, and rank_io gives credit for what the rank has read. When the
 * rank ends or closes its input, rank_io tells mprun exactly how much the rank has read.
 *
 * A rank with a terminal has one stream, stdout, for all that it writes there. The kernel does not
 * tell what the rank has read from a terminal: rank_io gives credit for what the terminal took.
 *
 * SIGPIPE must be ignored in this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/loop.h"
#include "common/files/tty.h"
#include "model/rank-name.h"

struct link;

enum { STDOUT, STDERR, KINDS };

struct kind {                    /* stdout or stderr of all ranks */
    uint64_t credit;             /* bytes that mprun still takes */
    uint64_t overdrawn;          /* bytes that were sent without credit */
    bool is_closed;              /* mprun has nowhere to write it */
    struct stream *first, *last; /* readable streams without credit or room */
};

struct rank_io { /* private to io/; all zero: no ranks, and input and events are ignored */
    struct loop *loop;
    struct link *link;
    struct rank_streams **ranks;
    size_t nranks, cap;
    size_t open_streams;
    struct kind kinds[KINDS];
    struct loop_defer check; /* calls drained if all is idle then */
    bool told_idle;
    void (*drained)(void *arg);
    void *arg;
};

/* window: bytes of output that each stream may send before mprun gives credit (output_window(),
 * wire/flow-control.h). Calls drained each time rank_io_is_idle() becomes true; drained may free
 * the rank_io. */
void rank_io_init(struct rank_io *io, struct loop *loop, uint32_t window,
                  void (*drained)(void *arg), void *arg);
/* Closes all pipes; sends nothing. */
void rank_io_free(struct rank_io *io);

/* Sets the link that frames go to, and sends input credit that is due. NULL: no link; output waits
 * in the pipes. */
void rank_io_set_link(struct rank_io *io, struct link *link);
/* The link has room again: call it in the link's `writable` event. */
void rank_io_writable(struct rank_io *io);

struct rank_io_wish {
    bool has_input;                  /* the rank gets standard input */
    bool is_slow;                    /* its source cannot take back what was read from it */
    const struct tty_size *terminal; /* a terminal of this size, with input, instead of pipes;
                                        NULL: pipes */
};
/* Makes pipes, or a terminal, for a rank that is about to start. ret_child_fds: the rank's stdin,
 * stdout and stderr; stdin is -1 when the rank has none. They are close-on-exec. The caller closes
 * them by rank_io_close_child_ends() after the spawn, whether it succeeded or not. Returns 0, or -1
 * with err. */
int rank_io_open(struct rank_io *io, struct rank_name name, const struct rank_io_wish *wish,
                 int ret_child_fds[3], struct error *err);
void rank_io_close_child_ends(int child_fds[3]);
/* Gives all ranks' terminals this size. */
void rank_io_resize(struct rank_io *io, const struct tty_size *size);

/* OUTPUT_CREDIT has come: mprun takes so many bytes more of this stream. Ignores streams other than
 * 1 and 2. */
void rank_io_output_credit(struct rank_io *io, unsigned stream, uint64_t bytes);
/* OUTPUT_CLOSED has come: mprun has nowhere to write this stream. */
void rank_io_output_closed(struct rank_io *io, unsigned stream);

/* The caller is about to send n bytes of this stream that come from no rank's pipe: takes them off
 * the stream's credit, which mprun gives back. Returns whether anybody reads the stream. */
bool rank_io_spend(struct rank_io *io, unsigned stream, size_t n);

/* INPUT has come; n 0 is its end. Drops data for a rank that has gone or closed its input. Returns
 * 0; -1 with err: mprun sent more than it had credit for, or memory is out; give up the link
 * then. */
int rank_io_input(struct rank_io *io, struct rank_name name, const uint8_t *data, size_t n,
                  struct error *err);

/* The rank was reaped, or could not start: closes its input and tells how much it has read. Its
 * output goes on to the end of file, which processes that it left behind may delay. */
void rank_io_rank_ended(struct rank_io *io, struct rank_name name);
/* All ranks were killed: sends what is in the pipes now, as credit comes, and does not wait for
 * processes that still have them open. */
void rank_io_abandon(struct rank_io *io);

/* Returns whether all output streams have ended, and the kernel has taken everything. */
bool rank_io_is_idle(const struct rank_io *io);
