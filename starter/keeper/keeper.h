/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.h - the small parent process of workers, which outlives them, and cleans up after them
 *
 * mpstarter forks at once: the parent is the keeper, the child the step's worker. Where the job has
 * an agent (starter/agent), that is the keeper of all steps that come to the host. The keeper is a
 * child subreaper in a process group of its own. A worker reports what it makes by packets
 * (keeper-channel.h). When it ends without having cleaned up, the keeper kills what is left below
 * itself, removes what the worker made, and logs that. The keeper also starts errands for workers:
 * its own children, which it waits for and never kills (errand-processes.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/log.h"
#include "starter/errands/errand-processes.h"
#include "starter/keeper/polled.h"

enum { KEPT_NAME = 24 };

struct keeper {
    const char *host; /* for messages */
    pid_t group;      /* of the manager's task, in which workers are; 0: the keeper's own */
    pid_t anchor;     /* a child that keeps that group; 0: there is none, or it has ended */
    uint64_t signals; /* bits of those that have come and were passed on */
    /* private to keeper.c */
    int signal_fd; /* < 0: there are no signals to be read */
    struct kept_step *steps;
    struct errand_processes errands;
};

/* The keeper, as a worker's process knows it. */
struct kept_worker {
    pid_t keeper;
    int fd;        /* the worker's end of the socket; -1: this is the keeper */
    bool is_agent; /* the keeper is the job's agent, and outlives the step */
};

/* mask: of errands. */
void keeper_init(struct keeper *k, const char *host, mode_t mask);
/* Puts this process into a process group of its own, even if it leads its present group, and takes
 * its signals. A session leader cannot leave its group, and stays. */
void keeper_begin(struct keeper *k);
/* Forks a worker: returns 0 there, with *ret, and its pid in the keeper; -1 with err. name and
 * level: of the messages of the worker, and of the keeper about it. number: which keeper_ended_fn
 * gets. */
pid_t keeper_fork(struct keeper *k, const char *name, enum log_level level, uint32_t number,
                  struct kept_worker *ret, struct error *err);

/* The part of this host in a step is over; code: of mpstarter. */
typedef void (*keeper_ended_fn)(void *arg, uint32_t number, int code);

/* Adds the descriptors that are to be polled. */
void keeper_poll(const struct keeper *k, struct polled *p);
/* Takes what has come on them, p being the first one, passes signals on, and looks what has ended.
 */
void keeper_take(struct keeper *k, const struct pollfd *p, keeper_ended_fn ended, void *arg);
/* Are there workers, or errands? */
bool keeper_is_needed(const struct keeper *k);
/* Kills all that is left below the keeper, but no worker and no errand. */
void keeper_kill_orphans(struct keeper *k);

/* Runs the keeper of one step until it ends. Returns mpstarter's exit code. */
int keeper_run(struct keeper *k);
