/* SPDX-License-Identifier: BSD-3-Clause */
/* mpbind.h - what the parts of mpbind know of each other */
#ifndef TOOLS_MPBIND_H
#define TOOLS_MPBIND_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/options.h"

enum mpbind_exit { /* mpbind(8), EXIT STATUS */
                   MPBIND_OK = 0,
                   MPBIND_REFUSED = 1,
                   MPBIND_USAGE = 2,
                   MPBIND_NO_DAEMON = 3,
                   MPBIND_NOT_IN_TIME = 4,
};

enum mpbind_action { BIND_TO, BIND_UNLIMIT, BIND_WAIT, BIND_FORGET };

struct mpbind_options {
    enum mpbind_action action;
    int action_given;
    int try_cores;    /* of BIND_TO: without the cores when they cannot be given */
    const char *user; /* a name or a number; NULL: not given */
    double wait;      /* seconds, of BIND_WAIT */
    int help, version;
    const char *job;
    uint32_t cores;                  /* 0: all */
    uint64_t memory, virtual_memory; /* bytes, or GRANT_UNLIMITED */
};

extern const struct option_def mpbind_option_table[];
/* 0, or -1 with a sentence. Texts are argv's. */
int mpbind_options_parse(int argc, char **argv, struct mpbind_options *ret, struct error *err);
char *mpbind_help(size_t width); /* caller frees */

#endif
