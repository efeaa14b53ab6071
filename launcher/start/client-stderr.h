/* SPDX-License-Identifier: BSD-3-Clause */
/* client-stderr.h - what a host's start client writes to its standard error
 *
 * Until the host's starter reports back the lines are held: they are the reason if it never does,
 * and are shown if it does. Afterwards each line is shown as it comes. Both are bounded. */
#pragma once

#include <stddef.h>

struct client_stderr;
struct host;
struct loop;
struct step_plan;

/* Reads fd from now on, and owns it. fd -1: another host runs the client, and client_stderr_add()
 * gets its words. NULL: out of memory. All functions below take NULL, for a client whose standard
 * error is mprun's own. */
struct client_stderr *client_stderr_create(struct loop *loop, const struct step_plan *plan,
                                           const struct host *h, int fd);
void client_stderr_destroy(struct client_stderr *c); /* held lines are not shown */
void client_stderr_add(struct client_stderr *c, const void *p, size_t n);

/* Shows the lines held so far. */
void client_stderr_show(struct client_stderr *c);
/* The host has reported back: shows the lines held so far, and from now on each as it comes. */
void client_stderr_show_at_once(struct client_stderr *c);
/* The client has ended: reads what is left, and shows what is held. */
void client_stderr_finish(struct client_stderr *c);

/* Writes the lines held into buf as part of a sentence, and forgets them; "": there are none. Of
 * many lines only the last is written, and the others are shown. */
void client_stderr_take_reason(struct client_stderr *c, char *buf, size_t n);
/* The lines held, each with its end; they stay. Valid until the next call. */
const char *client_stderr_held(struct client_stderr *c);
