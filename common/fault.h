/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.h - named points at which a fault-injection build does harm to itself; nothing otherwise
 *
 * MPRUN_FAULT=VICTIM@PHASE:ACTION, for example worker@launching:kill. Victims: mprun, keeper,
 * worker, both (keeper and worker), mppmi, rank (the first of a host), grandchild. Actions: kill,
 * segv, stop, and exit, which is segv where the victim is another process. The harm is done by
 * mprun to itself, and by the worker to all others, when the program reaches fault_point(PHASE).
 *     MPRUN_FAULT_HOST        the number of the host where it is done; without it, anywhere
 *     MPRUN_FAULT_FILE        is made with the victim's pid in it, a line each; whoever makes it is
 *                             the one that does harm, so that it is done once in a step
 *     MPRUN_FAULT_WAIT        the point is left only when this file is there
 *     MPRUN_FAULT_GRANDCHILD  file in which a rank writes the pid of what it left in the background
 */
#ifndef COMMON_FAULT_H
#define COMMON_FAULT_H

#include <sys/types.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef FAULT_INJECTION
enum { FAULT_BUILD = 1 };
/* Who can be a victim of this process; 0: not any more. */
void fault_register(const char *part, pid_t pid);
void fault_host(unsigned number); /* this process works for that host of the step */
void fault_point(const char *phase);
#else
enum { FAULT_BUILD = 0 };
static inline void fault_register(const char *part, pid_t pid)
{
    (void)part;
    (void)pid;
}
static inline void fault_host(unsigned number)
{
    (void)number;
}
static inline void fault_point(const char *phase)
{
    (void)phase;
}
#endif

#endif
