/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-io.h - the pipes of a host's ranks: output up the link, input down to the ranks
 *
 * Output is read from a rank's pipe straight into the link, and only when there is both credit of
 * that stream and room in the link: nothing is buffered here, so a reader that stalls stops the
 * ranks that write to that stream and nothing else. Each stream ends with an end-of-stream frame.
 *
 * Input comes by credit. From a fast source a rank gets an ordinary pipe, and credit is given for
 * what went into it. From a slow source (a pipe, a terminal, a socket: what was taken cannot be put
 * back) its pipe is one page, so that the kernel tells when the rank has read everything, and
 * credit is given for what the rank has read. When the rank ends or closes its input, the launcher
 * is told exactly how much it had read.
 *
 * A rank with a terminal has one stream, stdout, for all that it writes there. Nothing tells what
 * it has read of its input: credit is given for what the terminal took.
 *
 * SIGPIPE must be ignored in this process. */
#ifndef STARTER_RANK_IO_H
#define STARTER_RANK_IO_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/tty.h"
#include "model/rank-name.h"

struct link;
struct loop;
struct rank_io;

/* window: output_window() of the number of hosts (wire/frame.h); where that is not known yet, it
 * can be set before the first rank is opened. drained is called each time rank_io_idle() becomes
 * true; the rank_io may be destroyed in it. */
struct rank_io *rank_io_create(struct loop *loop, uint32_t window, void (*drained)(void *arg),
                               void *arg, struct error *err);
/* Closes all pipes; sends nothing. NULL is fine. */
void rank_io_destroy(struct rank_io *io);

/* Where frames go; NULL: nowhere for now (output waits in the pipes). Sends input credit that is
 * due. */
void rank_io_set_link(struct rank_io *io, struct link *link);
/* The link's `writable` event. */
void rank_io_writable(struct rank_io *io);

struct rank_io_wish {
    int input; /* the rank gets standard input */
    int slow;  /* from a source of which nothing can be put back */
    const struct tty_size
        *terminal; /* it has a terminal, with input, instead of pipes; NULL: not */
};
/* Pipes, or a terminal, for a rank that is about to be started. ret_child_fds are for spawn():
 * stdin is -1 when the rank is not to have any. All are close-on-exec and the caller's:
 * rank_io_close_child_ends() after the spawn, whether it succeeded or not. */
int rank_io_open(struct rank_io *io, struct rank_name name, const struct rank_io_wish *wish,
                 int ret_child_fds[3], struct error *err);
void rank_io_close_child_ends(int child_fds[3]);
/* Ranks that have a terminal see it change its size. */
void rank_io_resize(struct rank_io *io, const struct tty_size *size);

/* OUTPUT_CREDIT and OUTPUT_CLOSED; stream is 1 or 2, others are ignored. */
void rank_io_output_credit(struct rank_io *io, unsigned stream, uint64_t bytes);
void rank_io_output_closed(struct rank_io *io, unsigned stream);

/* INPUT; n 0: the end. Data for a rank that is gone, or closed its input, is dropped. -1: the
 * launcher sent more than it had credit for, or memory is out; the link should be given up. */
int rank_io_input(struct rank_io *io, struct rank_name name, const uint8_t *data, size_t n,
                  struct error *err);

/* The rank was reaped, or could not be started. Its input is closed and accounted for; its output
 * goes on to the end of file, which processes it left behind may delay. */
void rank_io_rank_ended(struct rank_io *io, struct rank_name name);
/* The end of a kill ladder: whatever still holds the pipes is not waited for. What is in them now
 * is sent, as credit comes, and no more. */
void rank_io_abandon(struct rank_io *io);

/* All output streams have ended and everything was handed to the kernel. */
int rank_io_idle(const struct rank_io *io);

#endif
