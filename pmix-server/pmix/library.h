/* SPDX-License-Identifier: BSD-3-Clause */
/* library.h - the PMIx library's start and end
 *
 * The library needs ten times as long to start if it has to look at the machine itself. So mppmi
 * gives it the starter's topology; the library shares it with the ranks. */
#pragma once

#include <pmix_server.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"

struct hwloc_topology;
struct server;

/* Prepares what is possible before PMI_INIT, and changes the environment. Call it before any thread
 * is started. Returns an empty topology; NULL with err. */
struct hwloc_topology *library_prepare(struct error *err);
/* Before the start: makes the ranks' variables depend on nothing but the library, because ranks get
 * them before the library runs. Ranks would look for its shared memory, too: so the library sends
 * data instead. */
void library_be_foreseeable(void);
/* Starts the library for s, whose directory and host name are known. If topology_xml is not empty
 * it goes into the topology; else the library looks at the machine. -1 with err. */
int library_start(struct hwloc_topology *topology, struct server *s,
                  ProtobufCBinaryData topology_xml, struct error *err);
/* Lets the library remove what ranks have left, and removes the server's directory. Leave the
 * process by _exit() afterwards: the library's threads still run. */
void library_stop(const struct server *s);

/* upcalls.c. Returns the functions that the library calls; from now on they are for s. */
pmix_server_module_t *upcalls_for(struct server *s);
