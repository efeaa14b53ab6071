/* SPDX-License-Identifier: BSD-3-Clause */
/* link-cipher.c - records: 4 bytes of length, then one frame, encrypted and authenticated */
#include "wire/link-private.h"

#include <errno.h>
#include <stdlib.h>

int link_cipher_begin(struct link *l)
{
    struct cipher *c = calloc(1, sizeof(*c));
    uint8_t key[32], header[CIPHER_HEADER];
    if (!c)
        return -1;
    handshake_direction_key(&l->shake, l->options.role == LINK_CONNECTOR, key);
    crypto_secretstream_xchacha20poly1305_init_push(&c->out, header, key);
    sodium_memzero(key, sizeof(key));
    l->cipher = c;
    return buffer_append(&l->wire, header, sizeof(header));
}

int link_cipher_encrypt(struct link *l, const uint8_t *frame, size_t n)
{
    uint8_t *to = buffer_reserve(&l->wire, RECORD_HEADER + n + CIPHER_EXTRA);
    if (!to)
        return -1;
    put32(to, (uint32_t)(n + CIPHER_EXTRA));
    crypto_secretstream_xchacha20poly1305_push(&l->cipher->out, to + RECORD_HEADER, NULL, frame, n,
                                               NULL, 0, 0);
    buffer_commit(&l->wire, RECORD_HEADER + n + CIPHER_EXTRA);
    return 0;
}

static int bad_record(struct link *l, const char *what)
{
    struct error e;
    error_set(&e, EPROTO, "protocol error: %s", what);
    link_dies(l, &e);
    return 1;
}

/* A record is decrypted where it lies: behind the tag, which takes the first of its bytes. */
static int take_record(struct link *l, uint8_t *record, uint32_t len)
{
    uint8_t *plain = record + 1;
    struct frame_header h;
    struct error e;
    unsigned char tag;
    unsigned long long n;
    if (crypto_secretstream_xchacha20poly1305_pull(&l->cipher->in, plain, &n, &tag, record, len,
                                                   NULL, 0) != 0)
        return bad_record(l, "a record is not authentic");
    if (n < FRAME_HEADER)
        return bad_record(l, "a record without a frame");
    if (l->session && link_session_own(plain))
        return link_session_own(plain) == n ? link_session_take(l, plain)
                                            : bad_record(l, "a record that is not one frame");
    if (frame_header_unpack(plain, &h, &e) < 0) {
        link_dies(l, &e);
        return 1;
    }
    if (h.length + FRAME_HEADER != n)
        return bad_record(l, "a record that is not one frame");
    return link_take_frame(l, &h, plain + FRAME_HEADER);
}

int link_cipher_take(struct link *l)
{
    struct cipher *c = l->cipher;
    if (!c->in_ready) {
        uint8_t key[32];
        if (buffer_len(&l->in) < CIPHER_HEADER)
            return 0;
        handshake_direction_key(&l->shake, l->options.role == LINK_ACCEPTOR, key);
        crypto_secretstream_xchacha20poly1305_init_pull(&c->in, buffer_ptr(&l->in), key);
        sodium_memzero(key, sizeof(key));
        buffer_consume(&l->in, CIPHER_HEADER);
        c->in_ready = 1;
        sodium_memzero(l->shake.key, sizeof(l->shake.key)); /* no more keys are made of it */
    }
    while (buffer_len(&l->in) >= RECORD_HEADER) {
        uint32_t len = get32(buffer_ptr(&l->in));
        if (len < CIPHER_EXTRA || len > FRAME_HEADER + FRAME_PAYLOAD_MAX + CIPHER_EXTRA)
            return bad_record(l, "a record of impossible length");
        if (buffer_len(&l->in) < RECORD_HEADER + len)
            return 0;
        link_enter(l);
        int stop = take_record(l, buffer_ptr(&l->in) + RECORD_HEADER, len);
        if (link_leave(l) || stop)
            return 1;
        buffer_consume(&l->in, RECORD_HEADER + len);
    }
    return 0;
}

void link_cipher_free(struct cipher *c)
{
    if (!c)
        return;
    sodium_memzero(c, sizeof(*c));
    free(c);
}
