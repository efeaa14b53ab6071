/* SPDX-License-Identifier: BSD-3-Clause */
/* debugging-options.h - what users say of debuggers and tools, and of what is shown at --timeout */
#pragma once

#include <stdbool.h>

struct debugging_options {
    const char *wrap;          /* NULL: none; valid words */
    const char *wrapped_ranks; /* idset; NULL: all */
    const char *daemon;        /* NULL: none; valid words */
    bool stop_on_exec, stop_in_init;
    bool stack_traces, report_state; /* at the end of --timeout */
};
