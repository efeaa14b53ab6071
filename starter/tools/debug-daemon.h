/* SPDX-License-Identifier: BSD-3-Clause */
/* debug-daemon.h - --debug-daemon: a tool's own program on each host, beside the ranks
 *
 * The program runs in the step's containment, in a cgroup of its own where ranks have their own,
 * and ends with the ranks. It finds all ranks of the step in the file that MPRUN_PROCTABLE names,
 * one line for each: rank, host, pid, program. */
#pragma once

#include "starter/tools/host-tool.h"
#include "wire/mprun.pb-c.h"

struct debug_daemon { /* private to debug-daemon.c; zero but for `with` at first */
    const struct starter_services *with;
    struct host_tool tool;
    char line[400];
    size_t nline;
};

/* DEBUG_DAEMON has come: starts the program. A failure ends the step. -1: not valid. */
int debug_daemon_start(struct debug_daemon *d, const Mprun__DebugDaemon *m);
void debug_daemon_close(struct debug_daemon *d);
