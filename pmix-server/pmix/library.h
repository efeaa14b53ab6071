/* SPDX-License-Identifier: BSD-3-Clause */
/* library.h - the PMIx library's start and end
 *
 * The library needs ten times as long to start when it has to look at the machine itself. So it
 * gets the starter's topology, and shares it with the ranks. */
#pragma once

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "common/error.h"

struct library;
struct server;

/* Makes what is possible before PMI_INIT, and changes the environment. NULL with err. */
struct library *library_prepare(struct error *err);
/* Starts the library for s, whose directory and host name are known. topology_xml may be empty:
 * then the library looks at the machine. -1 with err. */
int library_start(struct library *l, struct server *s, ProtobufCBinaryData topology_xml,
                  struct error *err);
/* NULL is fine. */
bool library_is_up(const struct library *l);
/* Lets the library clean up behind the ranks, and removes the server's directory. The process has
 * to leave by _exit() afterwards: the library's threads still run. */
void library_stop(const struct server *s);
