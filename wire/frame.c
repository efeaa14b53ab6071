/* SPDX-License-Identifier: BSD-3-Clause */
/* frame.c - the fixed headers of frames, and what is wrong with one that cannot be */
#include "wire/frame.h"

#include <errno.h>

#include "wire/bytes.h"

static const char *const type_text[FRAME_TYPE_COUNT] = {
    [FRAME_NONE] = "none",
    [FRAME_HELLO] = "HELLO",
    [FRAME_PLACE] = "PLACE",
    [FRAME_DOOR] = "DOOR",
    [FRAME_JOINED] = "JOINED",
    [FRAME_LOST] = "LOST",
    [FRAME_LAUNCH] = "LAUNCH",
    [FRAME_READY] = "READY",
    [FRAME_CANNOT_RUN] = "CANNOT_RUN",
    [FRAME_STARTED] = "STARTED",
    [FRAME_EXITED] = "EXITED",
    [FRAME_ABORTED] = "ABORTED",
    [FRAME_KILL] = "KILL",
    [FRAME_SIGNAL] = "SIGNAL",
    [FRAME_OUTPUT] = "OUTPUT",
    [FRAME_OUTPUT_CREDIT] = "OUTPUT_CREDIT",
    [FRAME_OUTPUT_CLOSED] = "OUTPUT_CLOSED",
    [FRAME_INPUT] = "INPUT",
    [FRAME_INPUT_CREDIT] = "INPUT_CREDIT",
    [FRAME_REPORT] = "REPORT",
    [FRAME_CLEANED] = "CLEANED",
    [FRAME_RELEASE] = "RELEASE",
    [FRAME_PING] = "PING",
    [FRAME_LOG] = "LOG",
    [FRAME_COLLECT] = "COLLECT",
    [FRAME_COLLECTED] = "COLLECTED",
    [FRAME_MODEX_REQUEST] = "MODEX_REQUEST",
    [FRAME_MODEX_REPLY] = "MODEX_REPLY",
    [FRAME_PMI_INIT] = "PMI_INIT",
    [FRAME_PMI_WORLD] = "PMI_WORLD",
    [FRAME_PMI_READY] = "PMI_READY",
    [FRAME_PMI_FAILED] = "PMI_FAILED",
    [FRAME_PMI_CLIENT] = "PMI_CLIENT",
    [FRAME_PMI_GONE] = "PMI_GONE",
    [FRAME_PMI_END] = "PMI_END",
    [FRAME_STATUS_REQUEST] = "STATUS_REQUEST",
    [FRAME_STATUS_REPLY] = "STATUS_REPLY",
    [FRAME_PRELOAD_OFFER] = "PRELOAD_OFFER",
    [FRAME_PRELOAD_WANTED] = "PRELOAD_WANTED",
    [FRAME_PRELOAD_DATA] = "PRELOAD_DATA",
    [FRAME_PRELOAD_TAKEN] = "PRELOAD_TAKEN",
    [FRAME_SILENT] = "SILENT",
    [FRAME_WINDOW] = "WINDOW",
    [FRAME_PONG] = "PONG",
    [FRAME_ERRAND] = "ERRAND",
    [FRAME_ERRAND_NEWS] = "ERRAND_NEWS",
    [FRAME_HAND] = "HAND",
    [FRAME_PRESENT_ASK] = "PRESENT_ASK",
    [FRAME_PRESENT] = "PRESENT",
};

const char *frame_type_text(unsigned type)
{
    return type < FRAME_TYPE_COUNT ? type_text[type] : "unknown";
}

void frame_header_pack(const struct frame_header *h, uint8_t out[FRAME_HEADER])
{
    put32(out, h->length);
    out[4] = h->type;
    out[5] = h->flags;
    out[6] = out[7] = 0;
    put32(out + 8, h->host);
}

int frame_header_unpack(const uint8_t in[FRAME_HEADER], struct frame_header *ret, struct error *err)
{
    struct frame_header h = {
        .length = get32(in), .type = in[4], .flags = in[5], .host = get32(in + 8)};
    if (h.type == FRAME_NONE || h.type >= FRAME_TYPE_COUNT)
        return error_set(err, EPROTO, "protocol error: frame of unknown type %u", h.type);
    if (h.length > FRAME_PAYLOAD_MAX)
        return error_set(err, EPROTO, "protocol error: %s frame of %u bytes, more than %d",
                         frame_type_text(h.type), h.length, FRAME_PAYLOAD_MAX);
    if ((h.flags & ~FRAME_MORE) || in[6] || in[7])
        return error_set(err, EPROTO, "protocol error: %s frame with unknown flags",
                         frame_type_text(h.type));
    if ((h.flags & FRAME_MORE) && (h.type == FRAME_OUTPUT || h.type == FRAME_INPUT))
        return error_set(err, EPROTO, "protocol error: %s frame in parts", frame_type_text(h.type));
    *ret = h;
    return 0;
}

void bulk_header_pack(const struct bulk_header *h, uint8_t out[BULK_HEADER])
{
    put32(out, h->name.world);
    put32(out + 4, h->name.rank);
    put32(out + 8, h->name.incarnation);
    out[12] = h->stream;
    out[13] = out[14] = out[15] = 0;
    put32(out + 16, (uint32_t)h->time_ns);
    put32(out + 20, (uint32_t)(h->time_ns >> 32));
}

int bulk_header_unpack(const uint8_t *in, size_t n, struct bulk_header *ret, struct error *err)
{
    if (n < BULK_HEADER)
        return error_set(err, EPROTO,
                         "protocol error: bulk frame of %zu bytes, less than its header", n);
    if (in[12] > 2 || in[13] || in[14] || in[15])
        return error_set(err, EPROTO, "protocol error: bulk frame for unknown stream %u", in[12]);
    ret->name.world = get32(in);
    ret->name.rank = get32(in + 4);
    ret->name.incarnation = get32(in + 8);
    ret->stream = in[12];
    ret->time_ns = (uint64_t)get32(in + 16) | (uint64_t)get32(in + 20) << 32;
    return 0;
}

void preload_header_pack(const struct preload_header *h, uint8_t out[PRELOAD_HEADER])
{
    put32(out, h->content);
    put32(out + 4, 0);
    put64(out + 8, h->offset);
}

int preload_header_unpack(const uint8_t *in, size_t n, struct preload_header *ret,
                          struct error *err)
{
    if (n <= PRELOAD_HEADER || n > PRELOAD_HEADER + PRELOAD_DATA_MAX)
        return error_set(err, EPROTO, "protocol error: PRELOAD_DATA of %zu bytes", n);
    if (get32(in + 4))
        return error_set(err, EPROTO, "protocol error: PRELOAD_DATA with an unknown header");
    ret->content = get32(in);
    ret->offset = get64(in + 8);
    return 0;
}
