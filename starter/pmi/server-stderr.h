/* SPDX-License-Identifier: BSD-3-Clause */
/* server-stderr.h - what mppmi writes on its standard error, as lines of the step's log */
#pragma once

struct error;
struct loop;
struct server_stderr;
struct step_end;

/* hostname must live as long. *ret_write is for the server, and the caller closes it. NULL with
 * err. */
struct server_stderr *server_stderr_create(struct loop *loop, const struct step_end *end,
                                           const char *hostname, int *ret_write, struct error *err);
void server_stderr_destroy(struct server_stderr *s);                    /* NULL is fine */
void server_stderr_set_host(struct server_stderr *s, const char *name); /* as LAUNCH names it */
