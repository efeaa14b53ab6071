/* SPDX-License-Identifier: BSD-3-Clause */
/* listen.h - where the launcher listens, and the addresses that starters are given */
#pragma once

#include "common/error.h"
#include "wire/link/listener.h"

struct listeners;
struct step_plan;

/* directory: of the step's sockets. NULL with err. With --transport=stdio there is no listener. */
struct listeners *listeners_open(struct loop *loop, const struct step_plan *plan,
                                 const char *directory, const struct listen_events *events,
                                 void *arg, struct error *err);
void listeners_close(struct listeners *l);                  /* NULL is fine */
const char *listeners_addresses(const struct listeners *l); /* separated by blanks; "": none */
