/* SPDX-License-Identifier: BSD-3-Clause */
/* holder-private.h - the parts of the holder
 *
 * Nothing here waits for a peer: the holder gives up an agent that takes nothing more, and an mprun
 * that reads nothing more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buffer.h"
#include "starter/keeper/polled.h"
#include "wire/start-channel/agent-channel.h"
#include "wire/start-channel/holder-socket.h"

enum { WORDS_MAX = 1024 }; /* bytes of a line */

/* A message that an mprun has no room for now. */
struct waiting {
    struct waiting *next;
    struct holder_message message;
};

struct asker { /* an mprun */
    struct asker *next;
    int fd;                          /* -1: it is on another host, */
    struct agent *through;           /* and this is the agent there, */
    uint32_t number;                 /* which has given it this number; */
    struct buffer heard;             /* what it has said of a message that is not whole yet */
    struct waiting *waiting, **last; /* in order; last: where the next one goes */
    size_t nwaiting;
    bool is_over; /* its step is over, and it waits for BYE */
    bool is_gone;
    struct holder_taken *needs; /* slots that its step takes */
    size_t nneeds;
    uint32_t turn; /* 0: it does not wait for slots */
    uint32_t seen; /* nfreed when it was told what has been taken; 0: it was not */
    bool waits;    /* for more than was free then */
    bool has_slots, is_told;
    uint8_t *meets; /* what others need to connect to it: the data of MEET, */
    size_t nmeets;
    int32_t meets_number; /* which grows; 0: it has sent none */
};

/* An mprun that waits for an agent, which another mprun starts, or which is ending. */
struct waiter {
    struct waiter *next;
    struct asker *asker;
    uint32_t host; /* the asker's number of it */
};

/* A starter that runs. */
struct start {
    struct start *next;
    uint32_t number, host;
    struct asker *asker; /* NULL: it has gone */
};

/* A process's output, which the holder reads line by line. */
struct lines {
    int fd; /* -1: not there yet, or closed */
    size_t n;
    char line[WORDS_MAX + 1];
};

/* A start client of several agents. */
struct client {
    struct client *next;
    struct lines says;
};

struct agent {
    struct agent *next;
    struct holder *holder;
    char *host;
    struct asker *starts_it; /* NULL: it is there */
    struct waiter *waiters;
    struct start *starts;
    pid_t client;
    int in_fd; /* -1: not there yet, or closed */
    struct lines out, err;
    uint32_t last_line; /* number of the last one with what an mprun there says */
    bool is_connected;  /* by a connection of its own, with this key */
    uint8_t key[LINK_KEY];
    bool is_ending; /* the holder has told it to end */
    bool refuses;   /* it has begun to end by itself, and serves the steps that it has */
    bool is_gone;
};

struct holder {
    /* asker_take_message() */
    void (*take_message)(struct holder *h, struct asker *asker, struct holder_message *m,
                         int fds[HOLDER_FDS]);
    struct asker *askers;
    struct agent *agents;
    struct client *clients;
    struct polled polled;
    uint32_t last_number; /* of a message to an agent */
    uint32_t last_turn;
    uint32_t nfreed; /* times that a step has left its slots, and 1 */
    int32_t last_meets;
    char job[HOLDER_JOB_MAX]; /* "": not known */
    bool sees_end;            /* of the job */
    bool is_full; /* it had no descriptor for an mprun that connects, which waits for a turn */
    bool is_kept; /* somebody has asked for that: agents end at the job's end at the latest */
    int keep;     /* milliseconds that agents stay without a step; < 0: until the job ends */
    double alive, needed; /* loop_now(): last AGENT_GOES_ON; last time a step needed agents */
};

/* ---- peers.c: mpruns ------------------------------------------------------------------------- */

/* Takes an mprun that connects. */
void asker_accept(struct holder *h, int listen_fd);
void asker_read(struct holder *h, struct asker *asker);
/* Sends a message. An mprun that is NULL or has gone is told nothing. */
void asker_tell(struct asker *a, enum holder_what what, uint32_t host, int value, const void *data,
                size_t n);
/* Sends what waits, as far as there is room. */
void asker_tell_waiting(struct asker *a);
/* Tells an mprun that there is no agent. Returns whether it is to start one. */
bool asker_starts_agent(struct asker *asker, uint32_t host);

/* ---- peers.c: agents ------------------------------------------------------------------------- */

struct agent *agent_find(const struct holder *h, const char *host); /* NULL: there is none */
void agent_add(struct holder *h, const char *host, struct asker *starts_it);
void agent_add_waiter(struct agent *a, struct asker *asker, uint32_t host);
/* Removes the first mprun that waits for the agent, and returns it with its number of the host;
 * NULL: none waits. */
struct asker *agent_take_waiter(struct agent *a, uint32_t *ret_host);
/* Has the next mprun that waits for the agent start it; false: none does. */
bool agent_start_by_next(struct agent *a);
/* number: another one for each message. False: the agent hears nothing. */
bool agent_tell(struct agent *a, uint32_t number, enum agent_what what, const void *data, size_t n);
/* Tells the agent to end. It is gone when its start client has ended. */
void agent_end(struct agent *a);
void agent_read(struct agent *a);
/* Reads what there is; agent NULL: drops it. Returns false at the end of the output. */
bool lines_read(struct lines *l, struct agent *a);
void lines_close(struct lines *l);
/* Removes mpruns, agents and start clients that have gone. */
void peers_remove_gone(struct holder *h);

/* ---- asker-messages.c ------------------------------------------------------------------------ */

/* Takes the descriptors that it keeps. */
void asker_take_message(struct holder *h, struct asker *asker, struct holder_message *m,
                        int fds[HOLDER_FDS]);

/* ---- slots.c --------------------------------------------------------------------------------- */

/* Has the step whose turn it is choose among the slots that nobody has: first come, first served.
 * A step takes all its slots or none, so that none waits while it has slots that others wait for.
 */
void slots_offer(struct holder *h);
