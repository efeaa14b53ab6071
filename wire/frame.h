/* SPDX-License-Identifier: BSD-3-Clause */
/* frame.h - length-prefixed frames
 *
 *     offset  size  field
 *     0       4     length of the payload, little endian, at most FRAME_PAYLOAD_MAX
 *     4       1     type (enum frame_type)
 *     5       1     flags (enum frame_flag)
 *     6       2     zero
 *     8       4     host: whose starter sends it (up) or is to have it (down, FRAME_EVERY_HOST for
 *                   all); 0 on links within a host
 *     12            payload
 *
 * Starters pass on what is not their own (starter/tree.h). A control message longer than a frame is
 * cut into frames of its type with FRAME_MORE on all but the last. Payloads of FRAME_OUTPUT and
 * FRAME_INPUT are a bulk header and raw bytes; of FRAME_PRELOAD_DATA a preload header and them. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "model/rank-name.h"

enum {
    PROTOCOL_VERSION = 1,
    FRAME_HEADER = 12,
    FRAME_PAYLOAD_MAX = 128 * 1024 + 64,
    MESSAGE_MAX = 64 * 1024 * 1024, /* reassembled from FRAME_MORE */
    BULK_HEADER = 24,
    BULK_DATA_MAX = 128 * 1024,
};

/* up: starter to launcher; down: back; pmi: starter and mppmi; tool: control */
enum frame_type {
    FRAME_NONE = 0,
    FRAME_HELLO = 1,      /* up */
    FRAME_PLACE,          /* down */
    FRAME_DOOR,           /* up */
    FRAME_JOINED,         /* up */
    FRAME_LOST,           /* up */
    FRAME_LAUNCH,         /* down */
    FRAME_READY,          /* up */
    FRAME_CANNOT_RUN,     /* up */
    FRAME_STARTED,        /* up */
    FRAME_EXITED,         /* up */
    FRAME_ABORTED,        /* up, pmi */
    FRAME_KILL,           /* down */
    FRAME_SIGNAL,         /* down */
    FRAME_OUTPUT,         /* up, bulk */
    FRAME_OUTPUT_CREDIT,  /* down */
    FRAME_OUTPUT_CLOSED,  /* down */
    FRAME_INPUT,          /* down, bulk */
    FRAME_INPUT_CREDIT,   /* up */
    FRAME_REPORT,         /* up */
    FRAME_CLEANED,        /* up */
    FRAME_RELEASE,        /* down */
    FRAME_PING,           /* both */
    FRAME_LOG,            /* up */
    FRAME_COLLECT,        /* up, pmi */
    FRAME_COLLECTED,      /* down, pmi */
    FRAME_MODEX_REQUEST,  /* up and down, pmi */
    FRAME_MODEX_REPLY,    /* up and down, pmi */
    FRAME_PMI_INIT,       /* pmi */
    FRAME_PMI_WORLD,      /* pmi */
    FRAME_PMI_READY,      /* pmi */
    FRAME_PMI_FAILED,     /* pmi */
    FRAME_PMI_CLIENT,     /* up, pmi */
    FRAME_PMI_GONE,       /* pmi */
    FRAME_PMI_END,        /* pmi */
    FRAME_STATUS_REQUEST, /* tool */
    FRAME_STATUS_REPLY,   /* tool */
    FRAME_PRELOAD_OFFER,  /* down */
    FRAME_PRELOAD_WANTED, /* up */
    FRAME_PRELOAD_DATA,   /* down, preload header */
    FRAME_PRELOAD_TAKEN,  /* up */
    FRAME_SILENT,         /* up */
    FRAME_WINDOW,         /* down */
    FRAME_PONG,           /* both */
    FRAME_ERRAND,         /* down */
    FRAME_ERRAND_NEWS,    /* up, tool */
    FRAME_HAND,           /* tool */
    FRAME_PRESENT_ASK,    /* down */
    FRAME_PRESENT,        /* up */
    FRAME_TYPE_COUNT,
};

enum frame_flag { FRAME_MORE = 1 };
#define FRAME_EVERY_HOST 0xffffffffu

struct frame_header {
    uint32_t length;
    uint8_t type;
    uint8_t flags;
    uint32_t host;
};

/* The bulk header: world, rank, incarnation (4 bytes each, little endian), stream (1 byte), 3 zero
 * bytes, time at the source in ns (8 bytes). Without data: the end of that stream. */
struct bulk_header {
    struct rank_name name;
    uint8_t stream; /* 0 stdin, 1 stdout, 2 stderr */
    uint64_t time_ns;
};

/* The preload header: which of the offered contents (4 bytes, little endian), 4 zero bytes, where
 * in it the data that follow belong (8 bytes). The bytes of a content come in order. */
struct preload_header {
    uint32_t content;
    uint64_t offset;
};
enum {
    PRELOAD_HEADER = 16,
    PRELOAD_DATA_MAX = 128 * 1024,
    /* On each link so much may be under way: sent, and not yet written by the receiver and passed
     * on to all below it that want it. It bounds what a host holds for a slow one below. */
    PRELOAD_WINDOW = 512 * 1024,
};

enum {
    ERRAND_INPUT_MAX = 4096, /* what a pipe takes at once */
    ERRAND_WORDS_MAX = 4096, /* arguments of an errand, with a byte for the end of each */
    ERRAND_SAYS_MAX = 65536, /* what is told of its output at once; of the rest, at its end, */
    ERRAND_LAST_MAX = 2048,  /* this much of the end */
};

/* Flow control, the same arithmetic at both ends.
 * Output: a host may have one window of each stream under way (sent, and not yet taken by the
 * reader of mprun's stdout or stderr). A frame costs its data and its headers, so that the number
 * of frames is bounded too; an end of stream costs nothing. Many hosts get smaller windows, so that
 * a stalled reader never makes the launcher hold more than about OUTPUT_TOTAL.
 * Input: INPUT_CREDIT's limit is this far ahead of what went into the rank's pipe, or, where no
 * more may be taken from the source than the rank reads (stdin_slow), of what the rank has read. */
enum {
    OUTPUT_WINDOW = 512 * 1024,
    OUTPUT_WINDOW_MIN = 16 * 1024,
    OUTPUT_TOTAL = 64 * 1024 * 1024,
    INPUT_WINDOW = 256 * 1024,
    INPUT_WINDOW_SLOW = 64 * 1024,
};

static inline uint32_t output_window(size_t hosts)
{
    size_t share = OUTPUT_TOTAL / 2 / (hosts ? hosts : 1);
    if (share > OUTPUT_WINDOW)
        return OUTPUT_WINDOW;
    return share < OUTPUT_WINDOW_MIN ? OUTPUT_WINDOW_MIN : (uint32_t)share;
}
static inline uint32_t output_cost(size_t data)
{
    return data ? (uint32_t)data + FRAME_HEADER + BULK_HEADER : 0;
}

const char *frame_type_text(unsigned type);
void frame_header_pack(const struct frame_header *h, uint8_t out[FRAME_HEADER]);
/* Refuses unknown types, flags and lengths: the error names them. */
int frame_header_unpack(const uint8_t in[FRAME_HEADER], struct frame_header *ret,
                        struct error *err);
void bulk_header_pack(const struct bulk_header *h, uint8_t out[BULK_HEADER]);
int bulk_header_unpack(const uint8_t *in, size_t n, struct bulk_header *ret, struct error *err);
void preload_header_pack(const struct preload_header *h, uint8_t out[PRELOAD_HEADER]);
int preload_header_unpack(const uint8_t *in, size_t n, struct preload_header *ret,
                          struct error *err);

#endif
