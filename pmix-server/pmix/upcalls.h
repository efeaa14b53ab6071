/* SPDX-License-Identifier: BSD-3-Clause */
/* upcalls.h - the table of functions that the PMIx library calls */
#pragma once

#include <pmix_server.h>

struct server;

/* Returns the table for PMIx_server_init(). All calls go to s from now on. */
pmix_server_module_t *upcalls_for(struct server *s);
