/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h - the agent of a job on its host: it forks a starter for each step that comes to the host
 *
 * The manager starts the agent for the job's first step (agent-channel.h has the protocol). The
 * agent is a child subreaper and has no thread. A starter that it forks works like one that the
 * manager starts: keeper and worker, with the step's own key. From the job's second step on,
 * starters find the machine's topology in memory. */
#pragma once

#include <sys/types.h>

#include "wire/start-channel/agent-channel.h"

/* Opens the agent's channel as the preamble says, and wipes the preamble's key. Returns 1 with the
 * channel's key; 0: the start channel is the channel; -1: it failed, and the agent has logged why.
 * hostname: for messages. */
int agent_open_channel(const char *hostname, struct preamble *p, uint8_t ret_key[LINK_KEY]);

/* A child that the agent has forked, which is to be a starter. */
struct agent_child {
    char name[AGENT_STARTER_NAME]; /* of its processes, in messages */
    int errands_fd; /* to the agent, which starts the worker's errands as a keeper does
                       (errand-processes.h) and outlives the step; -1: none */
};

/* Runs the agent until it ends, and returns its exit code. In a forked child it returns -1: the
 * child becomes the starter of the step in *ret. key: the channel's; NULL: none. mask: of errands.
 */
int agent_run(const char *hostname, const uint8_t *key, mode_t mask, struct preamble *ret,
              struct agent_child *ret_child);
