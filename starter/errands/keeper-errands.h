/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper-errands.h - programs that the keeper starts for the worker and never ends
 *
 * An errand is a start client of another host. It has to live on when this host's part of the step
 * is over or has failed, and the task that the resource manager knows ends with the keeper; so
 * errands are the keeper's children, and it waits for them before it exits. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ERRANDS_MAX = 256 };

struct keeper_errands {
    struct keeper_errand {
        uint32_t id;
        pid_t pid;
        int out_fd; /* keeps its output from having no reader, when the worker is gone */
    } all[ERRANDS_MAX];
    size_t n;
    int umask; /* that they have; -1: this process's */
};

/* To the keeper, behind KEEPER_ERRAND: this, and its arguments, each ended by a NUL. With it come
 * its standard input, its output, and the other end of that. */
struct errand_request {
    uint32_t id;
};

/* From the keeper, one a packet. */
struct errand_reply {
    uint32_t id;
    enum { ERRAND_HAS_PID, ERRAND_FAILED, ERRAND_OVER } what;
    int32_t value; /* its pid; errno; its status as from waitpid() */
};

/* Start what the worker asks for, and answer on reply_fd. fds are taken. */
void keeper_errand_start(struct keeper_errands *e, const char *request, size_t n, int fds[3],
                         pid_t worker, int reply_fd);
int keeper_errands_has(const struct keeper_errands *e, pid_t pid);
/* A child has ended, which may be one of them. */
void keeper_errand_ended(struct keeper_errands *e, pid_t pid, int status, int reply_fd);
