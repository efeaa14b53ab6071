/* SPDX-License-Identifier: BSD-3-Clause */
/* errand-processes.h - the processes of errands, which workers ask for and nobody ends
 *
 * An errand is a start client of another host. It has to live on when this host's part of the step
 * is over or has failed, and the task that the resource manager knows ends with the process that it
 * has started. So errands are children of that process, the keeper or the job's agent, which waits
 * for them before it exits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ERRANDS_MAX = 256 };

struct errand_processes {
    struct errand_process {
        uint32_t id;
        pid_t pid;
        int out_fd;   /* keeps its output from having no reader, when the worker is gone */
        int reply_fd; /* of the worker, who is told; -1: it has gone */
    } all[ERRANDS_MAX];
    size_t n;
    int umask; /* that they have; -1: this process's */
};

/* From a worker, behind KEEPER_ERRAND: this, and its arguments, each ended by a NUL. With it come
 * its standard input, its output, and the other end of that. */
struct errand_request {
    uint32_t id;
};

/* To the worker, one a packet. */
struct errand_reply {
    uint32_t id;
    enum { ERRAND_HAS_PID, ERRAND_FAILED, ERRAND_OVER } what;
    int32_t value; /* its pid; errno; its status as from waitpid() */
};

/* Starts what a worker asks for, and answers on reply_fd. fds are taken. */
void errand_process_start(struct errand_processes *e, const char *request, size_t n, int fds[3],
                          int reply_fd);
bool errand_processes_have(const struct errand_processes *e, pid_t pid);
/* A child has ended, which may be one of them. */
void errand_process_ended(struct errand_processes *e, pid_t pid, int status);
/* The worker that reads from reply_fd has gone. */
void errand_processes_tell_nobody(struct errand_processes *e, int reply_fd);
/* In a child of this process: closes what it need not have. */
void errand_processes_close(struct errand_processes *e);
