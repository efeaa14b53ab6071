/* SPDX-License-Identifier: BSD-3-Clause */
/* wait-cores.h - --wait-cores: the step's turn among the job's steps that wait for slots of hosts
 *
 * The holder of the job's agents keeps the queue. The step has its slots until it ends. Without a
 * holder it starts without waiting, and says so. */
#pragma once

#include <stdbool.h>

struct loop_io;
struct starters;

struct cores_wait { /* wait-cores.c alone changes it */
    struct starters *starters;
    int fd; /* to the holder; -1: there is nothing to wait for */
    struct loop_io *io;
    void (*then)(void *arg); /* NULL: it does not wait */
    int again;
};

/* Calls then with the starters when it is the step's turn; at once if the step does not wait. */
void cores_await(struct cores_wait *w, void (*then)(void *arg));
/* The step's slots are free from now on. Returns whether it was waiting, and will not begin. */
bool cores_leave(struct cores_wait *w);
