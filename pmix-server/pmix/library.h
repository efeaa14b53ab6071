/* SPDX-License-Identifier: BSD-3-Clause */
/* library.h - the PMIx library's start and end
 *
 * The library needs ten times as long to start when it has to look at the machine itself. So it
 * gets the starter's topology, and shares it with the ranks. */
#pragma once

#include <pmix_server.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"

struct hwloc_topology;
struct server;

/* Makes what is possible before PMI_INIT, and changes the environment. Call before any thread is
 * started. Returns an empty topology; NULL with err. */
struct hwloc_topology *library_prepare(struct error *err);
/* Before the start: ranks are to have their variables before the library runs, so these may depend
 * on nothing but the library. Ranks would look for its shared memory, too: it sends instead. */
void library_be_foreseeable(void);
/* Starts the library for s, whose directory and host name are known. topology_xml may be empty:
 * then the library looks at the machine; else it goes into the topology. -1 with err. */
int library_start(struct hwloc_topology *topology, struct server *s,
                  ProtobufCBinaryData topology_xml, struct error *err);
/* Lets the library clean up behind the ranks, and removes the server's directory. The process has
 * to leave by _exit() afterwards: the library's threads still run. */
void library_stop(const struct server *s);

/* upcalls.c. Returns the functions that the library calls. All calls go to s from now on. */
pmix_server_module_t *upcalls_for(struct server *s);
