/* SPDX-License-Identifier: BSD-3-Clause */
/* stack-traces.h - where the processes of the ranks are: the functions that each has called
 *
 * eu-stack of elfutils tells it, or gdb, which takes longer. A few ranks are looked at at once. */
#pragma once

#include <stdint.h>

#include "starter/tools/host-tool.h"

enum { TRACES_AT_ONCE = 4 };

struct stack_traces { /* private to stack-traces.c; zero but for `with` at first */
    const struct starter_services *with;
    uint32_t turn; /* of the question; 0: nobody has asked */
    uint32_t next; /* rank to be looked at, by its index on this host */
    struct trace *running[TRACES_AT_ONCE];
    char *program; /* path; NULL: there is none */
    bool is_gdb;
};

/* Look at all running ranks: mprun gets STACKS of each, the last one says that it is. */
void stack_traces_ask(struct stack_traces *s, uint32_t turn);
void stack_traces_free(struct stack_traces *s);
