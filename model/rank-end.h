/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-end.h - how a rank ended, and mprun's exit codes */
#pragma once

#include <stdint.h>

#include "model/rank-name.h"

enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_NO_FINALIZE = 1, /* a rank ended with code 0 after MPI_Init without MPI_Finalize, or
                                  without the MPI_Init that others have called */
    EXIT_CODE_TIMEOUT = 124,   /* --timeout */
    EXIT_CODE_MPRUN = 125,     /* mprun itself failed, or its command line is wrong */
    EXIT_CODE_CANNOT_EXEC = 126,
    EXIT_CODE_NOT_FOUND = 127,
    EXIT_CODE_SIGNAL = 128, /* plus the signal's number */
};

/* The earliest cause in this list explains the step, where several ranks fail in one window of
 * time. */
enum end_cause {
    END_LIMIT,       /* killed by the kernel for a limit */
    END_SIGNAL,      /* killed by a signal that was not ours */
    END_ABORT,       /* MPI_Abort or PMI abort */
    END_NOT_STARTED, /* could not be executed */
    END_CODE,        /* exit code other than 0 */
    END_NO_FINALIZE, /* exit code 0 after MPI_Init, without MPI_Finalize */
    END_NO_INIT,     /* exit code 0 without MPI_Init, while other ranks wait in theirs */
    END_OK,
    END_KILLED, /* by mprun, because the step was ending: explains nothing */
};

struct rank_end {
    struct rank_name name;
    uint32_t host; /* index in the allocation */
    enum end_cause cause;
    int code;         /* exit or abort code, signal number, or the exit code for NOT_STARTED */
    uint64_t time_ns; /* when it ended, CLOCK_REALTIME at its host */
};
