/* SPDX-License-Identifier: BSD-3-Clause */
/* preamble.h - the first bytes that a starter reads from its standard input: key and addresses
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
#include "wire/policy.h"

enum { PREAMBLE_MAX = 2048 };
enum preamble_flag {
    PREAMBLE_ENCRYPT = 1,
    PREAMBLE_STDIO = 2,     /* the link is the start channel itself */
    PREAMBLE_SUBREAPER = 4, /* the launcher is this process's parent and adopts orphans */
    PREAMBLE_VERBOSE = 8,
    PREAMBLE_PMI = 16,      /* a PMI server will be needed: start it at once */
    PREAMBLE_EXPLAIN = 32,  /* nothing will run: HELLO says what would be possible here */
    PREAMBLE_FALLBACK = 64, /* where no address answers, the start channel may be the link: the
                               starter writes PREAMBLE_ASK to its standard output, waits for
                               PREAMBLE_YES, and then begins the handshake there */
    PREAMBLE_MAC = 256,     /* instead of PREAMBLE_ENCRYPT */
};
/* What the starter says on its standard output before anything is sent to it. A start channel that
 * is a terminal (tasks of a job may have one where the job has) prints what it is sent, and changes
 * it, until the starter has set the terminal; a program that runs before the starter may read what
 * is not for it; and a start client may take a second longer when it has input before its task
 * runs. Both words are lines: a relay that works by lines passes them on at once. The first one is
 * longer than 256 bytes because a manager's relay may hold less for 10 ms, waiting for more. */
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

/* Writes into out and returns the length; -1 with err: the addresses are too long. */
int preamble_pack(const struct preamble *p, uint8_t out[PREAMBLE_MAX], struct error *err);
/* Reads from a blocking descriptor, and no byte behind the preamble. -1 with err: an end of file,
 * more than NOISE_MAX of other text, or a damaged preamble. */
int preamble_read(int fd, struct preamble *ret, struct error *err);
