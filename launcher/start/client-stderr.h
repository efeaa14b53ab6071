/* SPDX-License-Identifier: BSD-3-Clause */
/* client-stderr.h - reads and interprets the standard error of a host's start client
 *
 * Holds the lines until the host's starter reports back: shows them then, and takes them as the
 * reason if the starter never does. Later shows each line as it comes, except the keeper's message
 * that its worker has died: that is why the host fails. Both are bounded. */
#pragma once

#include "common/buffer.h"
#include "launcher/hosts/host-table.h"
#include "launcher/tunables.h"

struct host_failures;

/* Its name in messages: the first word of --agent, or the adapter's. Lives as long as the plan. */
const char *start_client_name(const struct step_plan *plan);
/* Writes into buf what the user can do about these words, to go behind them; "": nothing is known.
 * Returns buf. */
const char *start_client_advice(const struct step_plan *plan, const char *words, char *buf,
                                size_t n);

/* That the manager may have ended what ran on a host, to go behind that sentence; "": it says
 * nothing. */
const char *start_client_killer(const struct step_plan *plan);

/* Private to client-stderr.c. All 0: closed; the functions below do nothing then. So it stays for a
 * client whose standard error is mprun's own. */
struct client_stderr {
    struct host *host;
    struct host_failures *failures;
    int fd; /* -1: another host runs the client */
    struct loop_io *io;
    char line[CLIENT_LINE_MAX + 1]; /* what has no end yet */
    size_t n;
    struct buffer held; /* lines, each ended by a newline */
    unsigned lines, shown;
    bool at_once;  /* nothing is held any more */
    bool has_died; /* the worker: its keeper has said so */
};

/* Reads fd from now on, and owns it. fd -1: another host runs the client, and client_stderr_add()
 * gets its words. Where memory is short it stays closed. */
void client_stderr_open(struct client_stderr *c, struct loop *loop, struct host *h,
                        struct host_failures *failures, int fd);
void client_stderr_close(struct client_stderr *c); /* held lines are not shown */
/* Closes its descriptor, which another process reads from now on: client_stderr_add() gets more. */
void client_stderr_hand_over(struct client_stderr *c);
void client_stderr_add(struct client_stderr *c, const void *p, size_t n);

/* Shows the lines held so far. */
void client_stderr_show(struct client_stderr *c);
/* The host has reported back: shows the lines held so far, and from now on each as it comes. */
void client_stderr_show_at_once(struct client_stderr *c);
/* The client has ended: reads what is left, shows what is held, and closes. */
void client_stderr_finish(struct client_stderr *c);

/* Writes the lines held into buf as part of a sentence, and forgets them; "": there are none. Of
 * many lines only the last is written, and the others are shown. */
void client_stderr_take_reason(struct client_stderr *c, char *buf, size_t n);
/* The lines held, each with its end; they stay. Valid until the next call. */
const char *client_stderr_held(struct client_stderr *c);
