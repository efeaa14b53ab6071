/* SPDX-License-Identifier: BSD-3-Clause */
/* stack-traces.h - the functions that each process of the ranks is in
 *
 * eu-stack of elfutils tells them, or gdb, which takes longer. A few ranks are traced at once. */
#pragma once

#include <stdint.h>

#include "starter/tools/host-tool.h"

enum { TRACES_AT_ONCE = 4 };

struct stack_traces { /* private to stack-traces.c; zero but for `with` at first */
    const struct starter_services *with;
    uint32_t turn; /* of mprun's question; 0: none */
    uint32_t next; /* next rank to look at, by its index on this host */
    struct trace *running[TRACES_AT_ONCE];
    char *program; /* path; NULL: there is none */
    bool is_gdb;
};

/* Looks at all running ranks, and sends mprun STACKS for each; the last STACKS says that it is. */
void stack_traces_ask(struct stack_traces *s, uint32_t turn);
void stack_traces_free(struct stack_traces *s);
