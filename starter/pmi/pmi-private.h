/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-private.h - what the files behind pmi-server.h offer each other */
#pragma once

#include <sys/un.h>

#include "starter/pmi/pmi-server.h"

/* pmi-world.c: makes mppmi's directory in the step's; tells mppmi of its host (PMI_INIT), and of a
 * world (PMI_WORLD). */
void pmi_directory_make(struct pmi_server *p);
void pmi_init_send(const struct pmi_server *p);
void pmi_world_send(const struct pmi_server *p, const struct starter_services *world);

/* simple-pmi-connect.c: connects to mppmi's socket for PMI-1 and PMI-2, and tells which rank has
 * this connection. Returns a descriptor; -1 with errno; ECONNREFUSED: mppmi is about to end. */
int simple_pmi_connect(const struct sockaddr_un *server, struct rank_name rank);

/* server-stderr.c: logs the lines that mppmi writes on its standard error. *ret_write is for the
 * server; the caller closes it. -1 with err. */
int server_stderr_open(struct pmi_server *p, int *ret_write, struct error *err);
void server_stderr_close(struct pmi_server *p); /* not opened is fine */
