/* SPDX-License-Identifier: BSD-3-Clause */
/* preamble.h - the few bytes that a starter gets on its start channel's standard input
 *
 *     magic (16): "\nmprun-start-1\n\0"; whatever comes before it (login scripts, task prologs) is
 *                 skipped
 *     length (2, little endian) of what follows
 *     key (32), host id (4), flags (4), launcher (4), link grace (4), addresses as text separated
 *     by blanks (the rest)
 *
 * The key travels here and nowhere else: never in arguments, environment or files. */
#ifndef WIRE_PREAMBLE_H
#define WIRE_PREAMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/link.h"

enum { PREAMBLE_MAX = 2048, PREAMBLE_ADDRESSES = 1500 };
enum preamble_flag {
    PREAMBLE_ENCRYPT = 1,
    PREAMBLE_STDIO = 2,     /* the link is the start channel itself */
    PREAMBLE_SUBREAPER = 4, /* the launcher is this process's parent and takes in orphans */
    PREAMBLE_VERBOSE = 8,
    PREAMBLE_PMI = 16,      /* a PMI server will be needed: start it at once */
    PREAMBLE_EXPLAIN = 32,  /* nothing will be run: HELLO says what could be done here */
    PREAMBLE_FALLBACK = 64, /* where no address answers, the start channel may be the link: the
                               starter writes PREAMBLE_ASK to its standard output, waits for
                               PREAMBLE_YES, and then begins the handshake there */
    PREAMBLE_MAC = 256,     /* instead of PREAMBLE_ENCRYPT */
};
/* What the starter says on its standard output before anything is sent to it. A start channel that
 * is a terminal (tasks of a job have them where the job has: qrsh -pty y) prints what it is sent,
 * and makes something of it, as long as nobody has set it; a program before the starter's may read
 * what is not for it; and qrsh takes a second longer when it has input before its task runs. Both
 * words are lines: what passes output on by lines passes them on at once. The first one is as long
 * as it is because the shepherd of a task of Grid Engine waits 10 ms for more output before it
 * sends less than 256 bytes. */
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
    uint32_t link_grace; /* seconds that an interrupted link is waited for; 0: it is not */
    char addresses[PREAMBLE_ADDRESSES];
};

/* Length written into out, or -1 (addresses too long). */
int preamble_pack(const struct preamble *p, uint8_t out[PREAMBLE_MAX], struct error *err);
/* Read from a blocking descriptor, not a byte more than the preamble's own. Noise before the magic
 * is bounded. 0, or -1. */
int preamble_read(int fd, struct preamble *ret, struct error *err);
/* The same from memory, for tests of strictness: bytes used, 0 when more are needed, -1. */
int preamble_unpack(const uint8_t *in, size_t n, struct preamble *ret, struct error *err);

#endif
