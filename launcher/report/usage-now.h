/* SPDX-License-Identifier: BSD-3-Clause */
/* usage-now.h - what all ranks use now, for the user at the terminal and for ranks that ask */
#pragma once

#include "common/buffer.h"
#include "common/loop.h"
#include "launcher/hosts/host-table.h"
#include "model/rank-name.h"
#include "wire/messages/values.h"

struct verdict;

struct usage_of {
    bool is_some;          /* else all ranks */
    struct rank_name name; /* RANK_ALL: those of its world */
};

struct usage_now { /* private to usage-now.c */
    struct host_table *hosts;
    const struct verdict *verdict;
    struct loop_defer *then;
    struct loop_timer timer; /* runs while answers are awaited */
    uint32_t turn;           /* 0: nobody has asked */
    size_t awaited;
    bool is_said;         /* print it: the user at the terminal has asked */
    struct usage_of of;   /* whose usage the present look is */
    struct buffer askers; /* of struct asker: ranks */
    double last;          /* loop_now() of the last look at all; 0: there was none */
    struct look *looks;   /* by launch_index */
};

/* then: scheduled when the usage has been printed and sent. */
void usage_now_init(struct usage_now *u, struct loop *loop, struct host_table *hosts,
                    const struct verdict *verdict, struct loop_defer *then);
void usage_now_free(struct usage_now *u); /* what it holds, not itself; zero is fine */

/* Ask all hosts, and say what all ranks use when they have answered or USAGE_NOW_SECONDS are over.
 * To be called after LAUNCH. */
void usage_now_ask(struct usage_now *u);
/* The same for a rank of this host, which gets HOSTS_USAGE with its id: what all ranks use, or
 * those of `of`. */
void usage_now_ask_for(struct usage_now *u, const struct host *h, uint64_t id, struct usage_of of);
/* PRESENT of a host. -1: a frame that cannot be. */
int usage_now_answer(struct usage_now *u, const struct host *h, const Mprun__Present *m);
