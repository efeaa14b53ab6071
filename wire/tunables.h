/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - the numbers that we chose for the wire, each with its unit and its reason
 *
 * Numbers that belong to a format (lengths of headers, flags) are in the header of that format. */
#pragma once

/* ---- seconds ---- */

/* A connecting peer has to prove the key in this time. An honest peer needs milliseconds; a silent
 * one holds a place. */
#define HANDSHAKE_ACCEPT_SECONDS 5.0
/* A starter waits so long for the launcher's proof: mprun may be busy with other hosts. */
#define HANDSHAKE_CONNECT_SECONDS 60.0
/* An unproved peer keeps its place so long while others wait; see HANDSHAKE_ACCEPT_SECONDS. */
#define LISTEN_PATIENCE 0.2
/* The peer reads no more: its last messages and its end have to come in this time. */
#define LINK_DEAF_SECONDS 5.0
/* The peer's kernel has not answered for so long: the connection is lost. Three probes fit in. */
#define LINK_DEAD_SECONDS 12.0
/* A link without a connection counts its time in ticks. A tick longer than the second number means
 * that this process was stopped: it counts as one tick. */
#define RESUME_TICK_SECONDS     0.25
#define RESUME_TICK_MAX_SECONDS 1.0
/* An acceptor waits so long after an end of file or reset, because a dead process looks like that.
 * A living connector connects again faster. */
#define RESUME_PATIENCE_SECONDS 3.0
/* For one try to connect. A kernel repeats a lost SYN after 1 s; then a new try is faster. */
#define RESUME_DIAL_SECONDS 2.0
/* Between two tries, doubled each time; the longest is shorter than every patience. */
#define RESUME_BACK_OFF_SECONDS     0.1
#define RESUME_BACK_OFF_MAX_SECONDS 1.0
/* A link acknowledges received frames after this time at the latest: few acknowledgements go out
 * alone, and the peer soon gets its memory back. */
#define LINK_ACK_SECONDS 0.05
/* Usage is not sampled more often, whatever a message asks for: it would cost a whole core. */
#define SAMPLE_PERIOD_MIN_SECONDS 0.01
/* A longer time in a message counts as this, three years, which every timer can take. */
#define MESSAGE_SECONDS_MAX 1e8

/* ---- counts ---- */

enum {
    TREE_FANOUT = 32,          /* hosts right below a host: two levels for 1,056 hosts */
    LISTEN_PENDING = 64,       /* places of unproved peers; if more hosts start, one for each, */
    LISTEN_PENDING_MAX = 1024, /* but no more than this: each costs a descriptor */
    LISTEN_TICKS = 8,          /* in LISTEN_PATIENCE; a handshake takes half as many turns */
    LISTEN_BACKLOG = 4096,     /* connections waiting in the kernel: all hosts may come at once */
    DIAL_ADDRESSES_MAX = 16,   /* addresses tried at once; machines have fewer */
    GATHER_MAX = 4096,         /* collectives under way; a peer that starts more is broken */
    HEARTBEAT_LOOKS = 3,       /* looks in a row without a sign of life make a host silent */
    LINK_WATCHES = 6,          /* looks at a connection in LINK_DEAD_SECONDS; an answer that is */
    LINK_LOOKS = 8,            /* owed counts from the second look on: 1/8 of that time */
};

/* ---- bytes ---- */

enum {
    LINK_READ_MIN = 1024, /* one read, and all of an unproved peer; doubled while reads are full, */
    LINK_READ_MAX = 256 * 1024,    /* up to this */
    LINK_BULK_QUEUE = 256 * 1024,  /* bulk data that waits in a link: two frames */
    LINK_WIRE_QUEUE = 256 * 1024,  /* encrypted data that waits in a link */
    LINK_IDLE_BYTES = 16 * 1024,   /* an idle link frees larger buffers: there may be many links */
    LINK_SPLICE_MIN = 16 * 1024,   /* copying less data is as fast as splicing it */
    LINK_KEEP_BYTES = 1024 * 1024, /* unacknowledged frames; one frame more may be kept */
    LINK_ACK_BYTES = 128 * 1024,   /* received bytes after which a link sends an ACK: an eighth */
    LINK_DRAIN_MAX = 4 * 1024 * 1024, /* read and dropped while closing: with data unread the kernel
                                         would send a reset instead of our last messages */
    NOISE_MAX = 64 * 1024, /* text before a peer's magic: login scripts and prologs print less */

    /* flow control (flow-control.h) */
    OUTPUT_WINDOW = 512 * 1024,      /* of a host's stream; 128 KiB made a pipe a quarter slower */
    OUTPUT_WINDOW_MIN = 16 * 1024,   /* the same for each of very many hosts */
    OUTPUT_TOTAL = 64 * 1024 * 1024, /* mprun holds about this much when its reader stops */
    INPUT_WINDOW = 256 * 1024,       /* input that a rank has not taken */
    INPUT_WINDOW_SLOW = 64 * 1024,   /* the same if mprun may not read ahead of the rank */
    PRELOAD_WINDOW = 512 * 1024, /* preloaded files on one link: sent, but not yet written by the
                                    receiver and passed on to all below it that want them */

    PRELOAD_READ = 256 * 1024, /* one read of a file that is hashed */
    PREAMBLE_ADDRESSES = 1500, /* the launcher's addresses as text; machines have fewer */
};
