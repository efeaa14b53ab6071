/* SPDX-License-Identifier: BSD-3-Clause */
/* start-preamble.h - what a host's starter is told before it has a link: the preamble, filled */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/start-channel/preamble.h"

struct host;
struct step_plan;

/* directory: of the step's sockets, "" for none; addresses: where mprun listens. Returns the length
 * in ret, or -1 with err. The caller wipes ret, which has the step's key. */
int start_preamble_pack(const struct step_plan *plan, const struct host *h, const char *directory,
                        const char *addresses, uint32_t more_flags, uint8_t ret[PREAMBLE_MAX],
                        struct error *err);
/* A start channel to a host that reaches none of mprun's addresses may become its link: the user
 * has asked for no transport, and each host has a channel of its own. */
bool start_preamble_allows_channel(const struct step_plan *plan);
