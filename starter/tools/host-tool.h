/* SPDX-License-Identifier: BSD-3-Clause */
/* host-tool.h - a program that the worker runs beside its ranks, and what it says
 *
 * The program is a child of the worker, which ends all of its children with the step. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/loop.h"

struct spawn;
struct starter_services;

struct host_tool { /* other files read pid; all zero: it does not run */
    pid_t pid;     /* 0: it does not run */
    /* set by the user before the start: */
    void (*said)(void *arg, const char *p, size_t n); /* part of its standard output and error */
    void (*ended)(void *arg, int status);             /* as from waitpid(), after all output */
    void *arg;
    /* private to host-tool.c */
    const struct starter_services *with;
    int fd;
    struct loop_io *io;
    struct loop_timer limit;
};

/* Starts it; sets s->fds. seconds: then it is killed; 0: never. -1 with err. */
int host_tool_start(struct host_tool *t, const struct starter_services *with, struct spawn *s,
                    double seconds, struct error *err);
void host_tool_forget(struct host_tool *t); /* calls neither callback any more; all zero is fine */
