/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-exchange.h - collectives among ranks of several hosts, and data of one rank for another host
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/messages/values.h"

struct host;
struct host_table;
struct pmi_exchange;

/* NULL: out of memory. */
struct pmi_exchange *pmi_exchange_create(struct host_table *hosts);
void pmi_exchange_destroy(struct pmi_exchange *c); /* NULL is fine */

/* COLLECT, MODEX_REQUEST and MODEX_REPLY of a host. -1: a frame that cannot be. */
int pmi_exchange_part(struct pmi_exchange *c, const struct host *from, const uint8_t *p, size_t n);
/* Changes *m: it says on whose behalf it is passed on. */
int pmi_exchange_modex_request(struct pmi_exchange *c, struct host *from, Mprun__ModexRequest *m);
int pmi_exchange_modex_reply(struct pmi_exchange *c, const Mprun__ModexReply *m);
