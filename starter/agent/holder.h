/* SPDX-License-Identifier: BSD-3-Clause */
/* holder.h - the holder of a job's agents, on the host of the job's script
 *
 * The start clients of the agents have pipes for their standard input, output and error. The mprun
 * that has started them hands these over to the holder, which outlives it, and passes on what the
 * job's next mprun send to agents, and what these say (holder-socket.h). It starts nothing itself.
 * It ends with the job: agents see the end of their input then. */
#pragma once

#include <sys/types.h>

/* "mpstarter --hold JOB SECONDS", with a listening socket as standard input: the holder's whole
 * life. job: the process whose end is the job's; 0: there is none. seconds: it ends when nobody has
 * needed it for so long; 0: never. Returns the exit code. */
int holder_run(pid_t job, double seconds);
