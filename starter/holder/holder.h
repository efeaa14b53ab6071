/* SPDX-License-Identifier: BSD-3-Clause */
/* holder.h - the holder of a job's agents, on the host of the job's script
 *
 * The start client of an agent has pipes for its standard input, output and error. The mprun that
 * started it hands these pipes to the holder, which outlives that mprun. The holder passes on what
 * the job's other mpruns send to agents, and what agents say (holder-socket.h). It starts nothing
 * itself. When no mprun has needed the agents for as long as an mprun asked for, the holder tells
 * them to end, and ends with the last one. */
#pragma once

#include <sys/types.h>

/* "mpstarter --hold JOB", with a listening socket as standard input: runs the holder until it ends,
 * and returns its exit code. job: the process whose end is the job's end; 0: unknown. */
int holder_run(pid_t job);
