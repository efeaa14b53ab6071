/* SPDX-License-Identifier: BSD-3-Clause */
/* by-other-starters.h - hosts that are started by the starter of the host above them */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/messages/errand.h"
#include "wire/mprun.pb-c.h"

struct host;
struct starter;
struct starters;
struct step_plan;

/* ---- errands.c ------------------------------------------------------------------------------- */

/* Programs that a host's starter starts for mprun, beside the step's ranks. */

/* m NULL: the host is gone. Nothing more is told then, nor after REFUSED and ENDED. */
typedef void (*errand_fn)(void *arg, const Mprun__ErrandNews *m);

/* An errand carries a step's key, which must not go over a link that is not encrypted. */
bool errands_may_be_sent(const struct step_plan *plan);
/* m without its id. The errand's number, 0: it cannot be sent. */
uint32_t errand_send(struct starter *on, Mprun__Errand *m, errand_fn fn, void *arg);
void errands_host_gone(struct starters *s, const struct host *h);
void errands_close(struct starters *s);

/* ---- start-through-hosts.c ------------------------------------------------------------------- */

/* Hosts that are started by the starter of the host above them. */

void through_begin(struct starters *s);
bool through_is_elsewhere(void *arg, size_t host); /* for an adapter */
void through_reported(struct starter *st);         /* it has its starter */
void through_end(struct starters *s);              /* mprun starts the rest */
