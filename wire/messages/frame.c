/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/messages/frame.h"

#include <errno.h>

#include "wire/little-endian.h"
#include "wire/mprun.pb-c.h"

#define TEXT(name, ...) #name,
static const char *const type_text[FRAME_TYPE_COUNT] = {"none", FRAME_TYPES(TEXT, TEXT)};
#undef TEXT

#define MESSAGE(name, message) [FRAME_##name] = &mprun__##message##__descriptor,
#define NO_MESSAGE(name)
static const ProtobufCMessageDescriptor *const messages[FRAME_TYPE_COUNT] = {
    FRAME_TYPES(MESSAGE, NO_MESSAGE)};
#undef NO_MESSAGE
#undef MESSAGE

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
    put64(out + 16, h->time_ns);
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
    ret->time_ns = get64(in + 16);
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

ProtobufCMessage *frame_unpack(enum frame_type type, const uint8_t *p, size_t n)
{
    return messages[type] ? protobuf_c_message_unpack(messages[type], NULL, n, p) : NULL;
}

int frame_take(enum frame_type type, const uint8_t *p, size_t n,
               int (*take)(void *to, enum frame_type type, void *message), void *to)
{
    ProtobufCMessage *m = frame_unpack(type, p, n);
    int rc = m ? take(to, type, m) : -1;
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}

int frame_handle(const struct frame_handler handlers[FRAME_TYPE_COUNT], enum frame_type type,
                 void *to, const uint8_t *p, size_t n)
{
    const struct frame_handler *h = &handlers[type];
    if (h->take_bytes)
        return h->take_bytes(to, p, n);
    ProtobufCMessage *m = h->take ? frame_unpack(type, p, n) : NULL;
    int rc = m ? h->take(to, m) : -1;
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}
