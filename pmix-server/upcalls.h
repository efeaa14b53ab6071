/* SPDX-License-Identifier: BSD-3-Clause */
/* upcalls.h - what the PMIx library calls, as one table */
#ifndef PMIX_SERVER_UPCALLS_H
#define PMIX_SERVER_UPCALLS_H

#include <pmix_server.h>

struct server;

/* The table for PMIx_server_init(); all calls go to s from now on. */
pmix_server_module_t *upcalls_for(struct server *s);

#endif
