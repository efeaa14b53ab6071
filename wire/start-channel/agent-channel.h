/* SPDX-License-Identifier: BSD-3-Clause */
/* agent-channel.h - the protocol on the channel of a job's agent
 *
 * A preamble with PREAMBLE_AGENT makes mpstarter the agent of the job on its host. The agent's
 * channel is its start channel, or, if that has no input of its own, a connection to mprun. From
 * then on the agent reads messages of the job's holder from it:
 *
 *     number (4, little endian), length (2) of the rest, enum agent_what (1), data
 *
 * Numbers grow. On a connection the rest is encrypted with the connection's key, with the number as
 * nonce. For each AGENT_START the agent forks a starter; when the starter has ended, the agent
 * writes a line to the channel with the start's number. Its lines are longer than what a manager's
 * relay may hold back (preamble.h). After AGENT_ENDS, the end of the input, or
 * AGENT_SILENCE_SECONDS without a byte, the agent starts nothing more, and ends when its starters
 * have ended.
 *
 * The agent also stands for the holder on its host: it listens at the socket at which mpruns look
 * for the holder (holder-socket.h), numbers the mpruns that come, and passes on what they and the
 * holder say to each other. Their bytes go to the holder in lines, which are encrypted like
 * messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/start-channel/preamble.h"

#define AGENT_ALIVE_SECONDS   1.5
#define AGENT_SILENCE_SECONDS 5.0

enum agent_what {
    AGENT_GOES_ON, /* every AGENT_ALIVE_SECONDS, because some managers' relays do not pass on the
                      end of the input */
    AGENT_ENDS,
    AGENT_START,  /* data: a packed preamble */
    AGENT_LISTEN, /* data: the job's name of the holder's socket */
    AGENT_PASS,   /* data: the number of an mprun on the agent's host (4), and a packed message for
                     it; without a message: the holder is done with it */
};

enum {
    AGENT_TAG = 16,
    AGENT_DATA_MAX = PREAMBLE_MAX,
    AGENT_MESSAGE_MAX = 4 + 2 + 1 + AGENT_DATA_MAX + AGENT_TAG,
    AGENT_LINE_MAX = 1000,
    AGENT_PASS_MAX = 480, /* bytes of an mprun in a line */
};

struct agent_message {
    uint32_t number;
    enum agent_what what;
    size_t n;
    uint8_t data[AGENT_DATA_MAX];
};

/* An agent that has read this preamble makes its channel, a blocking connection, within so many
 * seconds; mprun's end calls link_release(). Prepares libsodium. Returns the descriptor, with its
 * key; -1 with err. */
int agent_connect(const struct preamble *p, double seconds, uint8_t ret_key[LINK_KEY],
                  struct error *err);

/* Packs a message with n bytes of data, at most AGENT_DATA_MAX. key: the connection's, with which
 * no number may come twice; NULL: the channel is no connection, and ret has the data as they are.
 * Returns the bytes in ret. */
size_t agent_message_pack(uint32_t number, enum agent_what what, const void *data, size_t n,
                          const uint8_t *key, uint8_t ret[AGENT_MESSAGE_MAX]);
/* Reads a message from a blocking descriptor. key: the connection's, or NULL. -1 with err; code 0:
 * the input has ended. */
int agent_message_read(int fd, const uint8_t *key, struct agent_message *ret, struct error *err);

/* Writes the line which tells that the starter of that number has ended with this status, as of
 * waitpid(), or AGENT_REFUSES, with its newline. Returns its length. */
enum { AGENT_REFUSES = -1 }; /* no starter has begun, and none will: the agent is ending */
size_t agent_ended_line(uint32_t number, int status, char ret[AGENT_LINE_MAX]);
/* Returns whether this is such a line, without the newline. */
bool agent_ended_read(const char *line, uint32_t *ret_number, int *ret_status);

/* Writes a line with n bytes, at most AGENT_PASS_MAX, of what the mprun of that number on the
 * agent's host says to the holder; none: it has gone. line_number: another one for each line.
 * Returns its length, with its newline. */
size_t agent_pass_line(uint32_t mprun, uint32_t line_number, const void *data, size_t n,
                       const uint8_t *key, char ret[AGENT_LINE_MAX]);
/* Reads such a line, without the newline. Returns 1; 0: it is another line; -1: it is damaged. */
int agent_pass_read(const char *line, const uint8_t *key, uint32_t *ret_mprun, uint32_t *ret_number,
                    uint8_t ret[AGENT_PASS_MAX], size_t *ret_n);

/* The name of a starter in its messages, "mpstarter#7": all starters of an agent share its standard
 * error. */
enum { AGENT_STARTER_NAME = 24 };
void agent_starter_name(uint32_t number, char ret[AGENT_STARTER_NAME]);
/* Cuts the starter's number out of a message and returns it; 0: the message has no such number. */
uint32_t agent_message_take_number(char *line);
