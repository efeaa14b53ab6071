/* SPDX-License-Identifier: BSD-3-Clause */
/* holder.h - the holder of a job's agents, on the host of the job's script
 *
 * The start clients of the agents have pipes for their standard input, output and error. The mprun
 * that has started them hands these over to the holder, which outlives it, and passes on what the
 * job's other mprun send to agents, and what these say (holder-socket.h). It starts nothing itself.
 * When no mprun needs them any more, or as long after that as an mprun has asked for, agents are
 * told to end, and the holder ends with the last of them. */
#pragma once

#include <sys/types.h>

/* "mpstarter --hold JOB", with a listening socket as standard input: the holder's whole life. job:
 * the process whose end is the job's; 0: it is not known. Returns the exit code. */
int holder_run(pid_t job);
