/* SPDX-License-Identifier: BSD-3-Clause */
/* mpir.h - the MPIR process acquisition interface: where debuggers find a step's processes
 *
 * A debugger reads and writes variables of this process, and breaks at a function, all of fixed
 * names ("The MPIR Process Acquisition Interface", version 1.0, of the MPI Forum). It may start
 * mprun, or attach to it later. There is one step in a process, so that these may be global. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct step_record;

/* A debugger has started mprun: ranks are to wait for it. */
bool mpir_is_debugged(void);
/* All ranks are running: fill the table, and let the debugger that there may be stop here. */
void mpir_ranks_are_running(const struct step_record *r);
/* A rank of world 0 was started again: the table, if there is one, has its new process. */
void mpir_rank_restarted(uint32_t rank, pid_t pid);
/* The step has failed; the first call counts. text: why; it lives as long as the process. */
void mpir_step_failed(const char *text);
/* No process is left that the table could name. */
void mpir_close(void);
