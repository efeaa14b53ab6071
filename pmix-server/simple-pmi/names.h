/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - names that ranks publish, look up and withdraw by PMI-1 and PMI-2: the same names as
 * those of PMIx
 *
 * A service or port of NULL gets an error as the answer. The dialect's named() gets the answer,
 * with `command`, a constant. */
#pragma once

struct connection;

void names_publish(struct connection *c, const char *command, const char *thread,
                   const char *service, const char *port);
void names_unpublish(struct connection *c, const char *command, const char *thread,
                     const char *service);
void names_lookup(struct connection *c, const char *command, const char *thread,
                  const char *service);
