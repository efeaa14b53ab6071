/* SPDX-License-Identifier: BSD-3-Clause */
/* outcome.h - how a rank ended, which of several ends was the cause, and mprun's exit codes */
#ifndef MODEL_OUTCOME_H
#define MODEL_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

#include "model/rank-name.h"

enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_NO_FINALIZE = 1,  /* a rank ended with code 0 after MPI_Init without MPI_Finalize, or
                                   without the MPI_Init that others have called */
    EXIT_CODE_TIMEOUT = 124,    /* --timeout */
    EXIT_CODE_MPRUN = 125,      /* mprun itself failed, or was used wrongly */
    EXIT_CODE_CANNOT_EXEC = 126,
    EXIT_CODE_NOT_FOUND = 127,
    EXIT_CODE_SIGNAL = 128,     /* plus the signal's number */
};

/* The order is the order of blame within one window of time: an earlier one wins. */
enum end_cause {
    END_LIMIT,       /* killed by the kernel for a limit */
    END_SIGNAL,      /* killed by a signal that was not ours */
    END_ABORT,       /* MPI_Abort or PMI abort */
    END_NOT_STARTED, /* could not be executed */
    END_CODE,        /* exit code other than 0 */
    END_NO_FINALIZE, /* exit code 0 after MPI_Init, without MPI_Finalize */
    END_NO_INIT,     /* exit code 0 without MPI_Init, in which others wait for it */
    END_OK,
    END_KILLED,      /* by our own ladder: never a cause */
};

struct rank_end {
    struct rank_name name;
    uint32_t host; /* index in the allocation */
    enum end_cause cause;
    int code;         /* exit or abort code, signal number, or the exit code for NOT_STARTED */
    uint64_t time_ns; /* when it ended, CLOCK_REALTIME at its host */
};

enum { OUTCOME_WINDOW_MS = 100 };

/* Which end explains the step: the first, and among those within the window after it the one
 * with the earliest cause in enum end_cause, then the lowest world and rank. NULL: all ended well. */
const struct rank_end *outcome_first_failure(const struct rank_end *ends, size_t n);
/* The exit code of a step for which `first` is the first failure (NULL: 0). Never 99 or 100 unless
 * a rank chose it itself. */
int outcome_exit_code(const struct rank_end *first);

#endif
