/* SPDX-License-Identifier: BSD-3-Clause */
/* agent-channel.h - the protocol on the channel of a job's agent
 *
 * A preamble with PREAMBLE_AGENT makes mpstarter the agent of the job on its host. The agent's
 * channel is its start channel, or, if that has no input of its own, a connection to mprun. From
 * then on it reads one start after another: a number (4 bytes, little endian), then a preamble.
 * On a connection the number is followed by the preamble's length (2), and the preamble is
 * encrypted with the connection's key and the number as nonce. For each start the agent forks a
 * starter; when the starter has ended, the agent writes a line to the channel, longer than what a
 * manager's relay may hold back (preamble.h). Two numbers come without a preamble: AGENT_ENDS, and
 * AGENT_GOES_ON every AGENT_ALIVE_SECONDS, because some managers' relays do not pass on the end of
 * the input. After AGENT_ENDS, the end of the input, or AGENT_SILENCE_SECONDS without a byte, the
 * agent starts nothing more, and ends when its starters have ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/start-channel/preamble.h"

#define AGENT_ALIVE_SECONDS   1.5
#define AGENT_SILENCE_SECONDS 5.0

#define AGENT_GOES_ON 0u
#define AGENT_ENDS    0xffffffffu

enum { AGENT_TAG = 16, AGENT_START_MAX = 4 + 2 + PREAMBLE_MAX + AGENT_TAG, AGENT_LINE_MAX = 400 };

/* An agent that has read this preamble makes its channel, a blocking connection, within so many
 * seconds; mprun's end calls link_release(). Prepares libsodium. Returns the descriptor, with its
 * key; -1 with err. */
int agent_connect(const struct preamble *p, double seconds, uint8_t ret_key[LINK_KEY],
                  struct error *err);

/* Packs a start: `number`, then the n bytes of a packed preamble, of at most PREAMBLE_MAX. key: the
 * connection's, with which no number may come twice; NULL: the channel is no connection, and ret
 * then has the step's key. Returns the bytes in ret. */
size_t agent_start_pack(uint32_t number, const uint8_t *preamble, size_t n, const uint8_t *key,
                        uint8_t ret[AGENT_START_MAX]);
/* Reads a start from a blocking descriptor. key: the connection's, or NULL. *ret is unchanged if no
 * preamble comes with the number. -1 with err; code 0: the input has ended. */
int agent_start_read(int fd, const uint8_t *key, uint32_t *ret_number, struct preamble *ret,
                     struct error *err);

/* Writes the line which tells that the starter of that number has ended with this status, as of
 * waitpid(), with its newline. Returns its length. */
size_t agent_ended_line(uint32_t number, int status, char ret[AGENT_LINE_MAX]);
/* Returns whether this is such a line, without the newline. */
bool agent_line_read(const char *line, uint32_t *ret_number, int *ret_status);

/* The name of a starter in its messages, "mpstarter#7": all starters of an agent share its standard
 * error. */
enum { AGENT_STARTER_NAME = 24 };
void agent_starter_name(uint32_t number, char ret[AGENT_STARTER_NAME]);
/* Cuts the starter's number out of a message and returns it; 0: the message has no such number. */
uint32_t agent_message_take_number(char *line);
