/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.h - named points at which a fault-injection build does harm to itself; other builds do
 * nothing there
 *
 * MPRUN_FAULT=VICTIM@PHASE:ACTION, for example worker@launching:kill. Victims: mprun, keeper,
 * worker, both (keeper and worker), mppmi, rank (the first of a host), grandchild. Actions: kill,
 * segv, stop, and exit, which is segv where the victim is another process. When the program reaches
 * fault_point(PHASE), mprun does the harm to itself, and the worker does it to all others.
 *     MPRUN_FAULT_HOST        the number of the host where it is done; without it, anywhere
 *     MPRUN_FAULT_FILE        a file that is made with the victims' pids in it, a line each; only
 *                             the process that makes it does harm, so that a step has one fault
 *     MPRUN_FAULT_WAIT        the program leaves the point only when this file is there
 *     MPRUN_FAULT_GRANDCHILD  file in which a rank writes the pid of what it left in the background
 */
#pragma once

#include <sys/types.h>
#include "config.h"

#ifdef FAULT_INJECTION
enum { FAULT_BUILD = 1 };
/* This process can be the victim called `part`; pid 0: it no longer can. */
void fault_register(const char *part, pid_t pid);
void fault_host(unsigned number); /* this process works for that host of the step */
void fault_point(const char *phase);
#else
enum { FAULT_BUILD = 0 };
static inline void fault_register(const char *part, pid_t pid)
{
}
static inline void fault_host(unsigned number)
{
}
static inline void fault_point(const char *phase)
{
}
#endif
