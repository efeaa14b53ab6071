/* SPDX-License-Identifier: BSD-3-Clause */
/* mpbind.h - what the files of mpbind share */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "tools/tool.h"

/* mpbind(8), EXIT STATUS; the first three are those of every tool */
enum mpbind_exit {
    MPBIND_OK = TOOL_OK,
    MPBIND_REFUSED = TOOL_FAILED,
    MPBIND_USAGE = TOOL_USAGE,
    MPBIND_NO_DAEMON = 3,
    MPBIND_NOT_IN_TIME = 4,
};

enum mpbind_action { BIND_TO, BIND_UNLIMIT, BIND_WAIT, BIND_FORGET };

enum { MPBIND_WORDS = 4 }; /* JOB CORES MEM VMEM */

struct mpbind_options { /* texts are argv's */
    struct tool_request request;
    enum mpbind_action action;
    int action_given;
    bool try_cores;                  /* of BIND_TO: without the cores when they cannot be given */
    const char *user;                /* a name or a number; NULL: not given */
    double wait;                     /* seconds, of BIND_WAIT */
    char *words[MPBIND_WORDS];       /* the job's name, and numbers as they were written */
    uint32_t cores;                  /* 0: all */
    uint64_t memory, virtual_memory; /* bytes, or GRANT_UNLIMITED */
};

extern const struct tool mpbind_tool; /* mpbind-options.c */
