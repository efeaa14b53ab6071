/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h - the agent of a job on its host: it forks a starter for each step that comes to the host
 *
 * The agent is the process that the job's first step had the manager start here (agent-channel.h
 * says how it is spoken to). It is a child subreaper, and has no thread. A starter that it forks is
 * as one that the manager has started: keeper and worker, with a key of the step's own. From the
 * job's second step on starters find the machine's topology in memory. */
#pragma once

#include <sys/types.h>

#include "wire/start-channel/agent-channel.h"

/* Makes the agent's channel what the preamble, whose key it wipes, says. 1 with its key; 0: it is
 * the start channel; -1: it cannot be made, and the agent has said why. hostname: for messages. */
int agent_open_channel(const char *hostname, struct preamble *p, uint8_t ret_key[LINK_KEY]);

/* A child that the agent has forked, which is to be a starter. */
struct agent_child {
    char name[AGENT_STARTER_NAME]; /* that its processes have in messages */
    int errands_fd; /* to the agent, which starts what its worker asks for as a keeper does
                       (errand-processes.h), and outlives the step; -1: there is none */
};

/* The agent's whole life. Returns its exit code; -1 in a child that it has forked to be the starter
 * of the step in *ret. key: of the channel; NULL: it has none. mask: the umask of errands. */
int agent_run(const char *hostname, const uint8_t *key, mode_t mask, struct preamble *ret,
              struct agent_child *ret_child);
