/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-link.h - mppmi, the PMI server of this host, as the worker sees it */
#ifndef STARTER_PMI_LINK_H
#define STARTER_PMI_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/error.h"
#include "model/rank-name.h"
#include "wire/frame.h"

struct pmi_link;
struct worker;

/* Start the program, as early as possible. NULL with err. */
struct pmi_link *pmi_link_create(struct worker *w, struct error *err);
void pmi_link_destroy(struct pmi_link *p);
pid_t pmi_link_pid(const struct pmi_link *p);
/* Hand over topology, names and the world; answered by READY: host_machine_prepared(). */
void pmi_link_begin(struct pmi_link *p);
int pmi_link_ready(const struct pmi_link *p);
/* NAME=value for every rank, NULL-terminated; valid once ready. */
char *const *pmi_link_env(const struct pmi_link *p);
/* A connection for a rank to inherit as its PMI-1, which the caller closes once the rank has it; -1
 * with err. Only where PMI-1 was asked for. */
int pmi_link_connect_rank(struct pmi_link *p, struct rank_name name, struct error *err);
/* Such a connection was refused: the server is about to end, or is killed after a while, and that
 * is the cause to be told. */
int pmi_link_refuses(const struct pmi_link *p);
void pmi_link_rank_gone(struct pmi_link *p, struct rank_name name);
/* A frame of the launcher for mppmi: COLLECTED, MODEX_*. */
void pmi_link_pass_down(struct pmi_link *p, enum frame_type type, const uint8_t *payload, size_t n);
/* Ask it to end; the machine is stepped when it has. */
void pmi_link_end(struct pmi_link *p);
/* It does not answer while everything else has been killed. */
void pmi_link_kill(struct pmi_link *p);
int pmi_link_ended(const struct pmi_link *p);
const struct rusage *pmi_link_usage(const struct pmi_link *p);

#endif
