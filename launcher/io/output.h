/* SPDX-License-Identifier: BSD-3-Clause */
/* output.h - writes ranks' output to mprun's stdout and stderr
 *
 * Never waits and never changes descriptors that mprun shares with others (output-sink.h). Bytes
 * that a reader does not take wait in a queue. The queue is bounded because hosts get credit for a
 * frame (consumed) only when its bytes were written. When stdout and stderr are the same terminal,
 * pipe or socket they share one queue, and the order of arrival is kept.
 *
 * What goes to files (output-files.h) is written at once.
 *
 * Without a format of lines (line-format.h) bytes pass as they came, partial lines included. With
 * one, output is put together to lines (output-lines.h), and each is written whole; on stdout and
 * stderr those of many ranks may be merged (line-merge.h).
 *
 * SIGPIPE must be ignored in this process, and descriptors 0 to 2 must be open. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "launcher/io/output-options.h"

struct loop;
struct output;

struct output_setup {
    int fds[2]; /* where stdout and stderr go: 1 and 2 */
    struct output_options options;
    struct output_names names; /* outlives the output; of use with patterns */
    mode_t umask;              /* of files */
    uint32_t window;           /* output_window() of the number of hosts (wire/flow-control.h), */
    size_t nhosts;             /* and that number */
};

/* Called from output_put(), output_message() and the loop; the output must not be destroyed in
 * consumed and closed. */
struct output_events {
    /* Send OUTPUT_CREDIT of so many bytes to this host. */
    void (*consumed)(void *arg, uint32_t host, unsigned stream, uint64_t bytes);
    /* The stream (1 or 2) has no reader any more: why->code EPIPE; or it cannot be written (disk
     * full): another code and a sentence. Send OUTPUT_CLOSED to all hosts. Once per stream. */
    void (*closed)(void *arg, unsigned stream, const struct error *why);
    /* output_idle() became true. */
    void (*drained)(void *arg);
};

struct output *output_create(struct loop *loop, const struct output_setup *setup,
                             const struct output_events *events, void *arg, struct error *err);
void output_destroy(struct output *o); /* what is queued is lost. NULL is fine */

/* Makes the rank's files, also if it writes nothing to them. */
void output_rank_started(struct output *o, uint32_t host, struct rank_name name);
/* Take a frame of output of a rank on a host; n 0: the end of that stream. */
void output_put(struct output *o, uint32_t host, const struct bulk_header *h, const void *data,
                size_t n);
/* The same for n bytes that are still to be read from fd, the link's descriptor: as the link's
 * `move` event (wire/link/link.h). */
ssize_t output_move(struct output *o, uint32_t host, const struct bulk_header *h, int fd, size_t n);
/* A message of mprun's own (with its newline) onto stderr, in order and never inside a line of
 * tagged output. */
void output_message(struct output *o, const char *text, size_t n);
/* Shows a line, without newline, on stderr, which has to be a terminal, until something else is
 * written to either stream or another line is shown. NULL: removes it. A terminal that takes
 * nothing now keeps what it shows. */
void output_progress(struct output *o, const char *text);
/* Was `closed` called for this stream? A host that still sends output of it has not got
 * OUTPUT_CLOSED. */
bool output_is_closed(const struct output *o, unsigned stream);
/* Nothing is queued. */
int output_idle(const struct output *o);
/* No rank writes any more: writes unfinished lines, and lines that wait to be merged. */
void output_finish(struct output *o);
/* Writes the last lines of a rank on stderr, with a line before and one behind them, where the
 * options ask for it. */
void output_show_last_lines(struct output *o, struct rank_name name, const char *host);

/* Bytes that readers have taken so far. While it grows, somebody still reads. */
uint64_t output_taken(const struct output *o);
/* For each sink that takes no bytes now: drops its queue and all later output, and gives hosts
 * credit for it. Returns the bytes dropped; 0: nothing was queued. */
uint64_t output_drop(struct output *o);
