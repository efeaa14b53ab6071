/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-private.h - what the files behind pmi-server.h offer each other */
#pragma once

#include <sys/un.h>

#include "starter/pmi/pmi-server.h"

/* pmi-world.c: make mppmi's directory in the step's; tell it of its host (PMI_INIT), and of a world
 * (PMI_WORLD). */
void pmi_directory_make(struct pmi_server *p);
void pmi_init_send(const struct pmi_server *p);
void pmi_world_send(const struct pmi_server *p, const struct starter_services *world);

/* simple-pmi-connect.c: connect a rank to mppmi's socket for PMI-1 and PMI-2, and say which rank
 * has this connection. A descriptor, or -1 with errno; ECONNREFUSED: mppmi is about to end. */
int simple_pmi_connect(const struct sockaddr_un *server, struct rank_name rank);

/* server-stderr.c: what mppmi writes on its standard error, as lines of the step's log. *ret_write
 * is for the server, and the caller closes it. -1 with err. */
int server_stderr_open(struct pmi_server *p, int *ret_write, struct error *err);
void server_stderr_close(struct pmi_server *p); /* not opened is fine */
