/* SPDX-License-Identifier: BSD-3-Clause */
/* preamble.h - the start channel's first bytes, which a starter reads from its standard input (key
 * and addresses), and the line that the starter writes before
 *
 *     magic (16): "\nmprun-start-1\n\0"; text before it (login scripts, task prologs) is skipped
 *     length (2, little endian) of what follows
 *     key (32), host id (4), flags (4), launcher (4), link grace (4), addresses as text separated
 *     by blanks (the rest)
 *
 * The key travels here and nowhere else: never in arguments, environment or files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/link/link.h"
#include "wire/tunables.h"

enum { PREAMBLE_MAX = 2048 };
enum preamble_flag {
    PREAMBLE_ENCRYPT = 1,
    PREAMBLE_STDIO = 2,     /* the link is the start channel itself */
    PREAMBLE_SUBREAPER = 4, /* the launcher is this process's parent and adopts orphans */
    PREAMBLE_VERBOSE = 8,
    PREAMBLE_PMI = 16,       /* the step needs a PMI server: start it at once */
    PREAMBLE_EXPLAIN = 32,   /* nothing will run: HELLO says what would be possible here */
    PREAMBLE_FALLBACK = 64,  /* if no address answers, the start channel may be the link: the
                                starter writes PREAMBLE_ASK to its standard output, waits for
                                PREAMBLE_YES, and then begins the handshake there */
    PREAMBLE_NUMBERED = 128, /* all hosts read the same preamble: the host id is the number of the
                                manager's task */
    PREAMBLE_MAC = 256,      /* in place of PREAMBLE_ENCRYPT */
    PREAMBLE_AGENT = 512,    /* start the job's agent, not a step's starter: agent-channel.h. With
                                addresses: its channel is a connection to one of them */
};
/* The starter writes PREAMBLE_READY on its standard output before mprun sends anything. A start
 * channel that is a terminal (tasks of a job may have one if the job has one) echoes and changes
 * input until the starter has set the terminal; a program that runs before the starter may read
 * input that is not for it; and a start client may take a second longer if it has input before its
 * task runs. Both words are lines, so that a relay that works by lines passes them on at once. The
 * first is longer than 256 bytes because a manager's relay may hold less back for 10 ms. */
#define PREAMBLE_DOTS "..........................................................."
#define PREAMBLE_READY                                                                             \
    "<mprun-start-ready-1" PREAMBLE_DOTS PREAMBLE_DOTS PREAMBLE_DOTS PREAMBLE_DOTS ">\n"
#define PREAMBLE_ASK "\nmprun-start-channel-1\n"
#define PREAMBLE_YES "y"

static inline enum link_security preamble_security(uint32_t flags)
{
    return flags & PREAMBLE_MAC ? LINK_MAC : flags & PREAMBLE_ENCRYPT ? LINK_ENCRYPT : LINK_PLAIN;
}

struct preamble {
    uint8_t key[LINK_KEY];
    uint32_t host_id;
    uint32_t flags;
    uint32_t launcher;   /* mprun's pid, with PREAMBLE_SUBREAPER */
    uint32_t link_grace; /* seconds to wait for a lost connection to come back; 0: do not wait */
    char addresses[PREAMBLE_ADDRESSES];
};

/* Packs *p into out and returns the length; -1 with err: the addresses are too long. */
int preamble_pack(const struct preamble *p, uint8_t out[PREAMBLE_MAX], struct error *err);
/* Reads from a blocking descriptor, and no byte after the preamble. -1 with err: an end of file,
 * more than NOISE_MAX of other text, or a damaged preamble. */
int preamble_read(int fd, struct preamble *ret, struct error *err);

/* Unpacks what preamble_pack() has written. -1 with err. */
int preamble_unpack(const uint8_t *p, size_t n, struct preamble *ret, struct error *err);

/* Login scripts and task prologs print on that channel, too, in pieces of any size; somewhere in
 * between the starter writes PREAMBLE_READY or PREAMBLE_ASK. These functions take the word out and
 * pass on all other output. */
enum { AWAIT_MAX = 320 }; /* bytes; every word is shorter */

struct await {
    const char *word; /* its first letter must not come again, except as the last; NULL: no word */
    size_t matched;   /* letters of it that the output so far ends with */
};

/* Takes n bytes of output and writes those that do not belong to the word to out, which has room
 * for n + AWAIT_MAX bytes. Returns the bytes written. Sets *found when the word is complete; from
 * then on it waits for no word. */
size_t await_take(struct await *a, const char *in, size_t n, char *out, int *found);
/* At the end of the output: writes the bytes that it held back as a possible beginning of the word,
 * at most AWAIT_MAX, and returns their number. */
size_t await_rest(struct await *a, char *out);
