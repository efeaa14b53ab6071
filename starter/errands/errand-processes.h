/* SPDX-License-Identifier: BSD-3-Clause */
/* errand-processes.h - the processes of errands: workers ask for them, and nobody kills them
 *
 * An errand is a start client for another host. It has to live on when this host's part of the step
 * is over or has failed. The resource manager's task ends with the process that the manager has
 * started. So that process, the keeper, is the errands' parent, and waits for them before it exits.
 */
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
        int out_fd;   /* keeps a reader at the errand's output after the worker has gone */
        int reply_fd; /* to the worker; -1: the worker has gone */
    } all[ERRANDS_MAX];
    size_t n;
    int umask; /* of errands; -1: this process's */
};

/* A worker sends KEEPER_ERRAND, this struct, and the errand's arguments, each ended by a NUL. Three
 * descriptors come with it: the errand's standard input, its output, and the reading end. */
struct errand_request {
    uint32_t id;
};

/* To the worker, one in a packet. */
struct errand_reply {
    uint32_t id;
    enum { ERRAND_HAS_PID, ERRAND_FAILED, ERRAND_OVER } what;
    int32_t value; /* HAS_PID: the pid; FAILED: errno; OVER: the status of waitpid() */
};

/* Starts the errand of a request, and answers on reply_fd. Takes fds. */
void errand_process_start(struct errand_processes *e, const char *request, size_t n, int fds[3],
                          int reply_fd);
bool errand_processes_have(const struct errand_processes *e, pid_t pid);
/* A child has ended; it may be an errand. */
void errand_process_ended(struct errand_processes *e, pid_t pid, int status);
/* The worker behind reply_fd has gone: its errands have nobody to report to. */
void errand_processes_tell_nobody(struct errand_processes *e, int reply_fd);
/* In a forked child of this process: closes the errands' descriptors. */
void errand_processes_close(struct errand_processes *e);
