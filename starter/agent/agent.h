/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h - the agent of a job on its host: it forks a starter for each step that comes to the host
 *
 * The agent is the process that the job's first step had the manager start here (agent-channel.h
 * says how it is spoken to). It is a child subreaper, and uses no library and no thread. A starter
 * that it forks is as one that the manager has started: keeper and worker, with a key of the step's
 * own. */
#pragma once

#include "wire/start-channel/agent-channel.h"

/* The agent's whole life. Returns its exit code; -1 in a child that it has forked to be the starter
 * of the step in *ret, with the name that it has in messages. hostname: for messages. */
int agent_run(const char *hostname, struct preamble *ret, char ret_name[AGENT_STARTER_NAME]);
