/* SPDX-License-Identifier: BSD-3-Clause */
/* stack-report.h - prints the stack traces of all ranks: equal ones once, with their ranks */
#pragma once

#include "common/loop.h"
#include "launcher/hosts/host-table.h"
#include "wire/mprun.pb-c.h"

struct stack_report { /* private to stack-report.c */
    struct host_table *hosts;
    struct loop_timer timer; /* runs while answers are awaited */
    struct loop_defer *turn;
    bool is_brief;
    uint32_t number; /* of the question; 0: nobody has asked */
    size_t awaited;
    bool *answered; /* by launch_index */
    char **text;    /* by rank; NULL: none */
};

/* turn: scheduled when the traces have been printed. */
void stack_report_init(struct stack_report *s, struct loop *loop, struct host_table *hosts,
                       struct loop_defer *turn);
void stack_report_free(struct stack_report *s); /* what it holds, not itself; zero is fine */

/* Asks all hosts, and prints the traces (brief: only which MPI function the ranks are in) when all
 * have answered or STACK_REPORT_SECONDS are over. Call it after LAUNCH. */
void stack_report_ask(struct stack_report *s, bool brief);
bool stack_report_is_awaited(const struct stack_report *s);
/* STACKS of a host. -1: a frame that cannot be. */
int stack_report_answer(struct stack_report *s, const struct host *h, const Mprun__Stacks *m);
