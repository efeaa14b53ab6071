/* SPDX-License-Identifier: BSD-3-Clause */
/* start-client-words.h - the start client in messages: its name, and what its words mean to users
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct step_plan;

/* Its name: the first word of --agent, or the adapter's. Lives as long as the plan. */
const char *start_client_name(const struct step_plan *plan);
/* Writes into buf what the user can do about these words, to go behind them; "": nothing is known.
 * Returns buf. */
const char *start_client_advice(const struct step_plan *plan, const char *words, char *buf,
                                size_t n);
/* The client says this line although nothing is wrong. */
bool start_client_is_noise(const struct step_plan *plan, const char *line);
