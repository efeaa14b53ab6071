/* SPDX-License-Identifier: BSD-3-Clause */
/* holder-socket.h - how an mprun finds the holder of its job's agents, and their messages
 *
 * The holder listens at an abstract Unix socket whose name has the user and the job: it has no
 * file, and vanishes with the holder. The kernel tells who the peer is. On the job's other hosts
 * the agents listen at sockets of that name, and pass on what comes (agent-channel.h). Each packet
 * is one message. An mprun numbers the hosts as it likes. Data of a message to the holder begins
 * with the host's name and a 0; if it concerns no host, it is a 0 alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/files/fd-packet.h"

enum holder_what {
    /* to the holder */
    HOLDER_ASK = 1, /* is there an agent on the host? */
    HOLDER_GIVE,    /* there is one, with these three descriptors: its standard input, output,
                       error; value: the start client's pid. Or with two of a connection, whose key
                       follows the name */
    HOLDER_CLIENT,  /* no host: read what a start client of several agents says, on one descriptor,
                       so that the client can go on */
    HOLDER_CANNOT,  /* the mprun could not start an agent there */
    HOLDER_LEAVE,   /* end the agent, if it has no running starter: a step that cannot use it needs
                       its task */
    HOLDER_START,   /* have the agent start a starter; a packed preamble follows the name */
    HOLDER_KEEP,    /* no host; value: milliseconds that agents stay without a step, -1: until the
                       job ends */
    HOLDER_OVER,    /* no host: the step is over */
    HOLDER_TURN,    /* no host: the step waits for its turn to take slots of hosts; again, when it
                       has its turn: until more slots are free */
    HOLDER_NEED,    /* value: slots of the host that the step takes */
    HOLDER_TAKE,    /* no host: NEED is complete; the step has these slots until the mprun goes */
    HOLDER_DOWN,    /* no host: agents end as soon as no step needs them */
    HOLDER_MEET,    /* no host: the mpruns that send this after this one are to connect to it, and
                       what they need for that follows the 0. It is answered by MET, and so is each
                       further MEET, without data, and value: that of the last MET */
    /* from the holder */
    HOLDER_HAS,    /* there is an agent */
    HOLDER_NONE,   /* there is none: the mprun starts it, and then sends GIVE or CANNOT */
    HOLDER_ABSENT, /* there is none, and the mprun could not give one, as it is on another host */
    HOLDER_WAIT,   /* another mprun is starting it, or it is ending: HAS or NONE comes then. After
                      TURN: another step, whose turn it is, waits */
    HOLDER_TAKEN,  /* no host: it is the step's turn, and these slots have been taken: an array of
                      struct holder_taken. value: how many more are in the next message; after the
                      last one the step may TAKE what is left. The next TAKEN comes when another
                      step has left */
    HOLDER_SAID,   /* data: what the agent or a starter of it wrote to standard error */
    HOLDER_ENDED,  /* the starter has ended; value: its status, as of waitpid() */
    HOLDER_GONE,   /* the agent has gone, and with it the starter */
    HOLDER_BYE,    /* the answer to OVER: no agent is ending any more; value: how many stay */
    HOLDER_MET,    /* data: of the mprun's MEET that came last before that one; value: its number.
                      No data: there is none */
};

enum {
    HOLDER_DATA_MAX = 4096,
    HOLDER_MEETS_MAX = 1500, /* data of MET: an agent passes on less than other messages have */
    HOLDER_TAKEN_MAX = 90,   /* in one message, for the same reason */
    HOLDER_FDS = FD_PACKET_FDS,
};

struct holder_taken {
    uint64_t host; /* holder_host_hash() */
    uint64_t slots;
};

struct holder_message {
    uint32_t what; /* enum holder_what */
    uint32_t host;
    int32_t value;
    uint32_t size; /* of data */
    uint8_t data[HOLDER_DATA_MAX];
};

/* Writes the name of the job that its holder's socket has. mpruns of another version, and other
 * managers and clusters, have other holders. A manager's name has no '-'. */
enum { HOLDER_JOB_MAX = 120 };
void holder_name_job(const char *manager, const char *number, uint64_t cluster,
                     char ret[HOLDER_JOB_MAX]);
/* Writes "MANAGER-NUMBER" of such a name into ret, and returns the number in it; NULL: the name is
 * of another version. */
const char *holder_job_number(const char *job, char ret[HOLDER_JOB_MAX]);

/* What TAKEN has for a host of this name. */
uint64_t holder_host_hash(const char *name);

/* Listens for the holder of the job. Returns a descriptor; -1 with err, whose code is EADDRINUSE if
 * there is a holder already. */
int holder_listen(const char *job, struct error *err);
/* Returns the job of a descriptor that holder_listen() has returned; false: it is none. */
bool holder_listens_for(int fd, char ret[HOLDER_JOB_MAX]);
/* Connects to the job's holder. -1 with err: there is none, or it is another user's. */
int holder_connect(const char *job, struct error *err);
/* Calls fn for each of the user's jobs that have a holder on this host. -1 with err. */
int holder_each(void (*fn)(void *arg, const char *job), void *arg, struct error *err);
/* Returns the holder's pid, as far as the kernel knows it: of the process that has called
 * holder_listen() or, after that, listen(). */
pid_t holder_pid(int fd);
/* Accepts a connection. -1 with errno: there is none, or it is another user's. */
int holder_accept(int fd);

/* A message without descriptors as bytes, for another host. Returns how many. */
enum { HOLDER_HEAD = 16, HOLDER_PACKED_MAX = HOLDER_HEAD + HOLDER_DATA_MAX };
size_t holder_message_pack(const struct holder_message *m, uint8_t ret[HOLDER_PACKED_MAX]);
/* Unpacks a message from the first bytes of n. Returns how many it has; 0: it is not whole yet; -1:
 * it is none. */
int holder_message_unpack(const uint8_t *p, size_t n, struct holder_message *ret);

/* Sends m with the descriptors in fds up to the first -1 (fds NULL: none). -1 with errno. */
int holder_send(int fd, const struct holder_message *m, const int fds[HOLDER_FDS]);
/* Takes a message, and into ret_fds its descriptors or -1, which the caller closes (ret_fds NULL:
 * closes them). Returns 1; 0: the peer has gone or has sent no valid message; -1 with errno EAGAIN:
 * there is none now. */
int holder_receive(int fd, struct holder_message *ret, int ret_fds[HOLDER_FDS]);
