/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h - the agent of a job on its host: it forks the worker of each step that comes to the host
 *
 * The manager starts the agent for the job's first step (agent-channel.h has the protocol). The
 * agent is the keeper of the workers of all steps, each with the step's own key. From the job's
 * second step on workers find the machine's topology in memory. */
#pragma once

#include <sys/types.h>

#include "starter/keeper/keeper.h"
#include "wire/start-channel/agent-channel.h"

/* Opens the agent's channel as the preamble says, and wipes the preamble's key. Returns 1 with the
 * channel's key; 0: the start channel is the channel; -1: it failed, and the agent has logged why.
 * hostname: for messages. */
int agent_open_channel(const char *hostname, struct preamble *p, uint8_t ret_key[LINK_KEY]);

/* Runs the agent until it ends, and returns its exit code. In a forked worker it returns -1, with
 * the start of its step and what it knows of its keeper. key: the channel's; NULL: none. */
int agent_run(struct keeper *keeper, const uint8_t *key, struct preamble *ret,
              struct kept_worker *ret_worker);
