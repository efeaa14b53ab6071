/* SPDX-License-Identifier: BSD-3-Clause */
/* agent-channel.h - what a job's agent is told on its channel, and what it says there
 *
 * A preamble with PREAMBLE_AGENT makes mpstarter the agent of the job on its host. Its channel is
 * its start channel, or, where that has no input of its own, a connection to mprun. From then on
 * one start after another comes there: a number (4 bytes, little endian), then a preamble; on a
 * connection instead of that its length (2), and the preamble encrypted with the connection's key,
 * the number being the nonce. For each the agent forks a starter, and says on the channel when that
 * has ended: a line, longer than what a manager's relay may hold back (preamble.h). Two numbers
 * come without a preamble: AGENT_GOES_ON every AGENT_ALIVE_SECONDS, because some managers' relays
 * do not pass on the end of the input, and AGENT_ENDS. At that, at the end of the input, or after
 * AGENT_SILENCE_SECONDS without a word, the agent starts nothing more, and ends when its starters
 * have ended. */
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
 * seconds: at mprun's end is link_release(). Prepares libsodium. Returns the descriptor, with its
 * key; -1 with err. */
int agent_connect(const struct preamble *p, double seconds, uint8_t ret_key[LINK_KEY],
                  struct error *err);

/* Packs a start: `number`, then the n bytes of a packed preamble, of at most PREAMBLE_MAX. key: of
 * the connection, for which no number may come twice; NULL: it is none. Returns the bytes in ret,
 * which, without a key, has the step's key. */
size_t agent_start_pack(uint32_t number, const uint8_t *preamble, size_t n, const uint8_t *key,
                        uint8_t ret[AGENT_START_MAX]);
/* Reads a start from a blocking descriptor, with the key of a connection or NULL; *ret is unchanged
 * where no preamble comes with the number. -1 with err; code 0: the input has ended. */
int agent_start_read(int fd, const uint8_t *key, uint32_t *ret_number, struct preamble *ret,
                     struct error *err);

/* The starter of that number has ended with this status, as of waitpid(): the line, with its
 * newline. Returns its length. */
size_t agent_ended_line(uint32_t number, int status, char ret[AGENT_LINE_MAX]);
/* Is this such a line, without the newline? */
bool agent_line_read(const char *line, uint32_t *ret_number, int *ret_status);

/* The name of a starter in its messages on standard error, which all starters of an agent have in
 * common: "mpstarter#7". */
enum { AGENT_STARTER_NAME = 24 };
void agent_starter_name(uint32_t number, char ret[AGENT_STARTER_NAME]);
/* The number of the starter whose message this is, which loses its number; 0: it is nobody's. */
uint32_t agent_message_take_number(char *line);
