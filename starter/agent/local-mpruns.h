/* SPDX-License-Identifier: BSD-3-Clause */
/* local-mpruns.h - the mpruns on an agent's host, such as a rank or a second login starts: they
 * reach the job's holder, which is on another host, through the agent
 *
 * The agent listens at the socket of the holder's name, and passes on the messages of both
 * (agent-channel.h). On the holder's own host the name is taken, and the agent does not listen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "starter/keeper/polled.h"

struct local_mprun {
    int fd;
    uint32_t number;
};

struct local_mpruns { /* all zero, but for listen_fd -1: nobody listens; local-mpruns.c changes it
                       */
    int listen_fd;
    bool is_full; /* there was no descriptor for an mprun that connects, which waits for a turn */
    const uint8_t *key; /* of the agent's channel; NULL: it has none */
    uint32_t last;      /* number that an mprun has got */
    uint32_t lines;     /* written to the holder */
    struct local_mprun *all;
    size_t n;
};

/* Listens for mpruns of the job. key: of the agent's channel, which is standard output. */
void local_mpruns_listen(struct local_mpruns *l, const char *job, const uint8_t *key);
/* Closes all descriptors. Neither mpruns nor the holder hear more. */
void local_mpruns_close(struct local_mpruns *l);

/* Adds the descriptors that are to be polled. */
void local_mpruns_poll(struct local_mpruns *l, struct polled *p);
/* Takes what has come on them: p is the first of them. */
void local_mpruns_take(struct local_mpruns *l, const struct pollfd *p);
/* Passes on what the holder says: the data of AGENT_PASS. */
void local_mpruns_pass(struct local_mpruns *l, const uint8_t *data, size_t n);
