/* SPDX-License-Identifier: BSD-3-Clause */
/* frame.h - length-prefixed frames
 *
 *     offset  size  field
 *     0       4     length of the payload, little endian, at most FRAME_PAYLOAD_MAX
 *     4       1     type (enum frame_type)
 *     5       1     flags (enum frame_flag)
 *     6       2     zero
 *     8       4     host: its starter sends the frame (up) or receives it (down; FRAME_EVERY_HOST:
 *                   all starters); 0 on links within a host
 *     12            payload
 *
 * Starters pass on frames of other hosts (starter/links/child-hosts.h). The sender cuts a control
 * message longer than a frame into frames of its type, all but the last with FRAME_MORE. The
 * payload of FRAME_OUTPUT and FRAME_INPUT is a bulk header and raw bytes; of FRAME_PRELOAD_DATA a
 * preload header and raw bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "model/rank-name.h"

enum {
    PROTOCOL_VERSION = 16, /* raise it with each change of a message or a frame */
    FRAME_HEADER = 12,
    FRAME_PAYLOAD_MAX = 128 * 1024 + 64,
    MESSAGE_MAX = 64 * 1024 * 1024, /* bytes of a message made of frames with FRAME_MORE */
    BULK_HEADER = 24,
    BULK_DATA_MAX = 128 * 1024,
    INPUT_PUSH_MAX = 1024 * 1024, /* bytes of one INPUT_PUSH */
};

/* All types; their numbers count from 1. up: starter to mprun; down: mprun to starters; pmi:
 * between starter and mppmi; tool: over the control socket. X: a type and its message in
 * mprun.proto; B: a type that has no message. */
#define FRAME_TYPES(X, B)                                                                          \
    X(HELLO, hello)                   /* up */                                                     \
    X(PLACE, place)                   /* down */                                                   \
    X(DOOR, door)                     /* up */                                                     \
    X(JOINED, joined)                 /* up */                                                     \
    X(LOST, lost)                     /* up */                                                     \
    X(LAUNCH, launch)                 /* down */                                                   \
    X(READY, ready)                   /* up */                                                     \
    X(CANNOT_RUN, cannot_run)         /* up */                                                     \
    X(STARTED, started)               /* up */                                                     \
    X(EXITED, exited)                 /* up */                                                     \
    X(ABORTED, aborted)               /* up, pmi */                                                \
    X(KILL, kill)                     /* down */                                                   \
    X(SIGNAL, signal)                 /* up and down, pmi */                                       \
    B(OUTPUT)                         /* up, bulk, pmi; down for tools */                          \
    X(OUTPUT_CREDIT, output_credit)   /* down; up for tools, pmi */                                \
    X(OUTPUT_CLOSED, output_closed)   /* down */                                                   \
    B(INPUT)                          /* down, bulk */                                             \
    X(INPUT_CREDIT, input_credit)     /* up */                                                     \
    X(REPORT, report)                 /* up */                                                     \
    X(CLEANED, cleaned)               /* up */                                                     \
    X(RELEASE, release)               /* down */                                                   \
    B(PING)                           /* both */                                                   \
    X(LOG, log)                       /* up */                                                     \
    X(COLLECT, collect)               /* up, pmi, tool */                                          \
    X(COLLECTED, collected)           /* down, pmi */                                              \
    X(MODEX_REQUEST, modex_request)   /* up and down, pmi, tool */                                 \
    X(MODEX_REPLY, modex_reply)       /* up and down, pmi, tool */                                 \
    X(PMI_INIT, pmi_init)             /* pmi */                                                    \
    X(PMI_WORLD, pmi_world)           /* down, pmi */                                              \
    X(PMI_READY, pmi_ready)           /* pmi */                                                    \
    X(PMI_FAILED, pmi_failed)         /* pmi */                                                    \
    X(PMI_CLIENT, pmi_client)         /* up, pmi */                                                \
    X(PMI_GONE, pmi_gone)             /* pmi */                                                    \
    X(PMI_END, pmi_end)               /* pmi */                                                    \
    X(STATUS_REQUEST, status_request) /* tool */                                                   \
    X(STATUS_REPLY, status_reply)     /* tool */                                                   \
    X(PRELOAD_OFFER, preload_offer)   /* down */                                                   \
    X(PRELOAD_WANTED, preload_wanted) /* up */                                                     \
    B(PRELOAD_DATA)                   /* down, preload header */                                   \
    X(PRELOAD_TAKEN, preload_taken)   /* up */                                                     \
    X(SILENT, silent)                 /* up */                                                     \
    X(WINDOW, window)                 /* down */                                                   \
    B(PONG)                           /* both */                                                   \
    X(ERRAND, errand)                 /* down */                                                   \
    X(ERRAND_NEWS, errand_news)       /* up */                                                     \
    X(PRESENT_ASK, present_ask)       /* down */                                                   \
    X(PRESENT, present)               /* up */                                                     \
    X(KILL_RANK, kill_rank)           /* down */                                                   \
    X(NAME_REQUEST, name_request)     /* up, pmi, tool */                                          \
    X(NAME_REPLY, name_reply)         /* down, pmi, tool */                                        \
    X(SPAWN, spawn)                   /* up, pmi */                                                \
    X(SPAWNED, spawned)               /* down, pmi */                                              \
    X(WORLD_KILL, world_kill)         /* down */                                                   \
    X(WORLD_END, world_end)           /* down, pmi, tool */                                        \
    X(WORLD_REPORT, report)           /* up */                                                     \
    X(STACKS_ASK, stacks_ask)         /* down */                                                   \
    X(STACKS, stacks)                 /* up */                                                     \
    X(IDLE, idle)                     /* up */                                                     \
    X(DEBUG_DAEMON, debug_daemon)     /* down */                                                   \
    X(RANK_TABLE, rank_table)         /* up and down, pmi */                                       \
    X(HOSTS_USAGE, hosts_usage)       /* up and down, pmi */                                       \
    B(OUTPUT_WANTED)                  /* up, pmi */                                                \
    X(PMI_EVENT, pmi_event)           /* up and down, pmi */                                       \
    X(OVER_LIMIT, over_limit)         /* up */                                                     \
    X(RESTART_RANK, restart_rank)     /* down */                                                   \
    X(INPUT_PUSH, input_push)         /* up, pmi */                                                \
    X(INPUT_PUSHED, input_pushed)     /* down, pmi */

#define FRAME_TYPE(name, ...) FRAME_##name,
enum frame_type { FRAME_NONE, FRAME_TYPES(FRAME_TYPE, FRAME_TYPE) FRAME_TYPE_COUNT };
#undef FRAME_TYPE

enum frame_flag { FRAME_MORE = 1 };
#define FRAME_EVERY_HOST 0xffffffffu

struct frame_header {
    uint32_t length;
    uint8_t type;
    uint8_t flags;
    uint32_t host;
};

/* The bulk header: world, rank, incarnation (4 bytes each, little endian), stream (1 byte), 3 zero
 * bytes, time at the source in ns (8 bytes). A bulk frame without data ends its stream. */
struct bulk_header {
    struct rank_name name;
    uint8_t stream; /* 0 stdin, 1 stdout, 2 stderr */
    uint64_t time_ns;
};

/* The preload header: number of the offered content (4 bytes, little endian), 4 zero bytes, offset
 * of the data in the content (8 bytes). The bytes of a content come in order. */
struct preload_header {
    uint32_t content;
    uint64_t offset;
};
enum {
    PRELOAD_HEADER = 16,
    PRELOAD_DATA_MAX = 128 * 1024,
};

const char *frame_type_text(unsigned type);
void frame_header_pack(const struct frame_header *h, uint8_t out[FRAME_HEADER]);
/* Refuses unknown types, flags and lengths: -1 with err, which names them. So do the others
 * below. */
int frame_header_unpack(const uint8_t in[FRAME_HEADER], struct frame_header *ret,
                        struct error *err);
void bulk_header_pack(const struct bulk_header *h, uint8_t out[BULK_HEADER]);
int bulk_header_unpack(const uint8_t *in, size_t n, struct bulk_header *ret, struct error *err);
void preload_header_pack(const struct preload_header *h, uint8_t out[PRELOAD_HEADER]);
int preload_header_unpack(const uint8_t *in, size_t n, struct preload_header *ret,
                          struct error *err);

/* Unpacks the message of a frame; the caller frees it. NULL: the type has no message, or the bytes
 * are no such message. */
ProtobufCMessage *frame_unpack(enum frame_type type, const uint8_t *p, size_t n);

/* Unpacks the message of a frame, and frees it after the call of take. Returns take's result; -1:
 * the type has no message, or the bytes are no such message. */
int frame_take(enum frame_type type, const uint8_t *p, size_t n,
               int (*take)(void *to, enum frame_type type, void *message), void *to);

/* How to handle frames of one type; a receiver has an array of these, by frame type. */
struct frame_handler {
    /* Takes the frame's message; frame_handle() frees it after the call. Returns -1 for a message
     * that is not valid, or not now. */
    int (*take)(void *to, void *message);
    /* In place of take: takes a frame that is no message, or is unpacked elsewhere. */
    int (*take_bytes)(void *to, const uint8_t *p, size_t n);
};

/* Calls the type's function and returns its result; -1: there is none, or the bytes are no such
 * message. */
int frame_handle(const struct frame_handler handlers[FRAME_TYPE_COUNT], enum frame_type type,
                 void *to, const uint8_t *p, size_t n);
