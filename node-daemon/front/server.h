/* SPDX-License-Identifier: BSD-3-Clause */
/* server.h - the socket: connections of one request each, bounded in number and time */
#pragma once

#include "node-daemon/front/requests.h"

struct server;

/* The directory of a socket, where only root may put anything: is it fit, or, with `make`, made if
 * it is not there? 0, or -1 with err. */
int server_directory(const char *path, int make, struct error *err);
/* Take the lock of path, so that there is one daemon: EADDRINUSE in err where there is another one.
 * Its directory is made (0755, the caller's) where it is missing. path and requests must outlive
 * it. */
struct server *server_create(struct loop *l, const char *path, struct requests *requests,
                             struct error *err);
/* Listen there, instead of what is there from an earlier daemon. If the socket is removed or
 * replaced later, it is made again, and so are the sentinels. 0, or -1 with err. */
int server_listen(struct server *s, struct error *err);
/* Something about jobs is settled: who waits for it is answered. */
void server_settled(struct server *s);
/* Closes what is open; the socket's name stays, as a sign that there is to be a daemon. NULL is
 * fine. */
void server_destroy(struct server *s);
