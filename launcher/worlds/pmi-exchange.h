/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-exchange.h - collectives among ranks of several hosts, and a rank's data for another host */
#pragma once

#include "launcher/hosts/host-table.h"
#include "wire/tree/gather.h"

struct job_worlds;

struct pmi_exchange { /* pmi-exchange.c alone changes it */
    struct gather_rules rules;
    struct gather *gather; /* its owner destroys it */
    struct host_table *hosts;
    struct job_worlds *others; /* ranks of other steps */
    uint64_t ncomplete;        /* collectives so far */
};

/* c must not move. */
void pmi_exchange_init(struct pmi_exchange *c, struct host_table *hosts, struct job_worlds *others);

/* COLLECT, MODEX_REQUEST and MODEX_REPLY of a host. -1: a frame that cannot be. */
int pmi_exchange_part(struct pmi_exchange *c, const struct host *from, const uint8_t *p, size_t n);
/* Changes *m: it says on whose behalf it is passed on. */
void pmi_exchange_modex_request(const struct pmi_exchange *c, struct host *from,
                                Mprun__ModexRequest *m);
/* PMI_EVENT, likewise. */
void pmi_exchange_event(const struct host *from, Mprun__PmiEvent *m);
void pmi_exchange_modex_reply(const struct pmi_exchange *c, Mprun__ModexReply *m);
