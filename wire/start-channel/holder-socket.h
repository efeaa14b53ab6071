/* SPDX-License-Identifier: BSD-3-Clause */
/* holder-socket.h - how an mprun finds the holder of its job's agents, and what both say
 *
 * The holder listens at an abstract Unix socket whose name is the user's and the job's: it has no
 * file, and is gone with the holder. The kernel says who the peer is. Each packet is one message. A
 * host is a number, which is the asker's own. To the holder each message begins, in data, with the
 * host's name and a 0; where no host is meant, there is nothing else. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

enum holder_what {
    /* to the holder */
    HOLDER_ASK = 1, /* is there an agent on the host? */
    HOLDER_GIVE,    /* there is, by these three descriptors: its standard input, output, error;
                       value: the start client. Or by two of a connection, whose key is behind the
                       name */
    HOLDER_CLIENT,  /* no host: reads what a start client of several agents says, on one descriptor,
                       so that it can go on */
    HOLDER_CANNOT,  /* none could be started there */
    HOLDER_LEAVE,   /* end the agent, if no starter of it runs: a step that cannot use it needs its
                       task */
    HOLDER_START,   /* have it start a starter; a packed preamble is behind the name */
    HOLDER_KEEP,    /* no host; value: milliseconds that agents stay without a step, -1: until the
                       job ends */
    HOLDER_OVER,    /* no host: the step is over */
    HOLDER_NEED,    /* value: slots of the host that the step takes; behind the name: all that it
                       has, as a number of 32 bits */
    HOLDER_TURN,    /* no host: that was all; the step waits for its turn, and has these slots until
                       the asker goes */
    HOLDER_DOWN,    /* no host: agents end as soon as no step needs them */
    /* from the holder */
    HOLDER_HAS,   /* there is an agent; the answer to TURN: the slots are the step's */
    HOLDER_NONE,  /* there is none: the asker starts it, and then says GIVE or CANNOT */
    HOLDER_WAIT,  /* it is being started by another mprun, or ends: HAS or NONE comes then.
                     After TURN: other steps have slots of the host, or the turn; value: so many are
                     free */
    HOLDER_SAID,  /* data: what the agent or a starter of it wrote to standard error */
    HOLDER_ENDED, /* the starter has ended; value: its status, as of waitpid() */
    HOLDER_GONE,  /* the agent has gone, and with it the starter */
    HOLDER_BYE,   /* the answer to OVER: no agent is ending any more; value: how many stay */
};

enum { HOLDER_DATA_MAX = 4096, HOLDER_FDS = 3 };

struct holder_message {
    uint32_t what; /* enum holder_what */
    uint32_t host;
    int32_t value;
    uint32_t size; /* of data */
    uint8_t data[HOLDER_DATA_MAX];
};

/* The job as its holder's socket has it: mpruns of another version have another holder, as have
 * other managers and clusters. A manager's name has no '-'. */
enum { HOLDER_JOB_MAX = 120 };
void holder_name_job(const char *manager, const char *number, uint64_t cluster,
                     char ret[HOLDER_JOB_MAX]);
/* "MANAGER-NUMBER" of such a name into ret, and where its number is; NULL: it is of another
 * version. */
const char *holder_job_number(const char *job, char ret[HOLDER_JOB_MAX]);

/* Listens for the holder of the job. Returns a descriptor; -1 with err, whose code is EADDRINUSE
 * when there is a holder. */
int holder_listen(const char *job, struct error *err);
/* Connects to the job's holder. -1 with err: there is none, or it is another user's. */
int holder_connect(const char *job, struct error *err);
/* Calls fn for each of the user's jobs that have a holder on this host; -1 with err. */
int holder_each(void (*fn)(void *arg, const char *job), void *arg, struct error *err);
/* The holder's process, as far as the kernel knows: who has called holder_listen() or, after that,
 * listen(). */
pid_t holder_pid(int fd);
/* Takes a connection; -1: none, or another user's. */
int holder_accept(int fd);

/* Sends m with its descriptors, up to one of -1 (fds NULL: none). -1 with errno. */
int holder_send(int fd, const struct holder_message *m, const int fds[HOLDER_FDS]);
/* Takes a message, and into fds what came with it or -1; the caller closes these. Returns 1; 0: the
 * peer has gone or has sent what is no message; -1 with errno EAGAIN: there is none now. */
int holder_receive(int fd, struct holder_message *ret, int fds[HOLDER_FDS]);
