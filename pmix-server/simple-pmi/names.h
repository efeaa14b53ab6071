/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - names that ranks publish, look up and withdraw by PMI-1 and PMI-2: the same names as
 * those of PMIx
 *
 * service and port may be NULL, which is an error as others are. `named` of the rank's dialect has
 * the answer, and gets `command` back, a constant. */
#pragma once

struct connection;

void names_publish(struct connection *c, const char *command, const char *thread,
                   const char *service, const char *port);
void names_unpublish(struct connection *c, const char *command, const char *thread,
                     const char *service);
void names_lookup(struct connection *c, const char *command, const char *thread,
                  const char *service);
