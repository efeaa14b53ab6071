/* SPDX-License-Identifier: BSD-3-Clause */
/* link-cipher.c - records: 4 bytes of length, then one frame, encrypted and authenticated
 *
 * With LINK_MAC a record is the length, 16 bytes of tag, and the plain frame. The tag is that of
 * ChaCha20-Poly1305 over nothing with the frame as additional data, and the number of the record as
 * nonce. So a record that was changed, repeated, left out or reordered is not authentic; each
 * connection and each direction has a key of its own. */
#include "common/must.h"
#include "wire/link/link-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- tags ------------------------------------------------------------------------------------ */

static void number_record(struct one_way *m,
                          uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES])
{
    memset(nonce, 0, crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
    put64(nonce, m->records++);
}

static void make_tag(struct one_way *m, const uint8_t *frame, size_t n, uint8_t tag[MAC_EXTRA])
{
    uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], nothing;
    number_record(m, nonce);
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(&nothing, tag, NULL, &nothing, 0, frame, n,
                                                       NULL, nonce, m->key);
}

static bool is_authentic(struct one_way *m, const uint8_t *tag, const uint8_t *frame, size_t n)
{
    uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], nothing = 0;
    number_record(m, nonce);
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(&nothing, NULL, &nothing, 0, tag,
                                                              frame, n, nonce, m->key) == 0;
}

static size_t extra_of(const struct cipher *c)
{
    return c->mac ? MAC_EXTRA : CIPHER_EXTRA;
}

/* ---- records --------------------------------------------------------------------------------- */

void link_cipher_begin(struct link *l)
{
    struct cipher *c = l->cipher = must(calloc(1, sizeof(*c)));
    bool connector = l->options.role == LINK_CONNECTOR;
    uint8_t header[CIPHER_HEADER];
    handshake_direction_key(&l->shake, connector, c->way_out.key);
    handshake_direction_key(&l->shake, !connector, c->way_in.key);
    c->mac = c->in_ready = l->options.security == LINK_MAC;
    if (c->mac)
        return;
    crypto_secretstream_xchacha20poly1305_init_push(&c->out, header, c->way_out.key);
    sodium_memzero(c->way_out.key, sizeof(c->way_out.key));
    buffer_append(&l->wire, header, sizeof(header));
}

void link_cipher_encrypt(struct link *l, const uint8_t *frame, size_t n)
{
    struct cipher *c = l->cipher;
    size_t extra = extra_of(c);
    uint8_t *to = buffer_reserve(&l->wire, RECORD_HEADER + n + extra);
    put32(to, (uint32_t)(n + extra));
    to += RECORD_HEADER;
    if (c->mac) {
        make_tag(&c->way_out, frame, n, to);
        memcpy(to + MAC_EXTRA, frame, n);
    } else {
        crypto_secretstream_xchacha20poly1305_push(&c->out, to, NULL, frame, n, NULL, 0, 0);
    }
    buffer_commit(&l->wire, RECORD_HEADER + n + extra);
}

/* Returns the frame of a record, of *ret_n bytes. Decrypts an encrypted frame in place, after its
 * first byte, which is the tag. NULL: it is not authentic. */
static uint8_t *open_record(struct cipher *c, uint8_t *record, uint32_t len,
                            unsigned long long *ret_n)
{
    unsigned char tag;
    if (!c->mac)
        return crypto_secretstream_xchacha20poly1305_pull(&c->in, record + 1, ret_n, &tag, record,
                                                          len, NULL, 0) == 0
                   ? record + 1
                   : NULL;
    *ret_n = len - MAC_EXTRA;
    record += MAC_EXTRA;
    return is_authentic(&c->way_in, record - MAC_EXTRA, record, *ret_n) ? record : NULL;
}

static int take_record(struct link *l, uint8_t *record, uint32_t len)
{
    struct frame_header h;
    struct error e;
    unsigned long long n;
    uint8_t *plain = open_record(l->cipher, record, len, &n);
    if (!plain)
        return link_fails(l, EPROTO, "protocol error: a record is not authentic");
    if (n < FRAME_HEADER)
        return link_fails(l, EPROTO, "protocol error: a record without a frame");
    size_t own = l->session ? link_retransmit_own(plain) : 0;
    if (!own && frame_header_unpack(plain, &h, &e) < 0)
        return link_fails(l, e.code, "%s", e.text);
    if ((own ? own : h.length + FRAME_HEADER) != n)
        return link_fails(l, EPROTO, "protocol error: a record that is not one frame");
    return own ? link_retransmit_take(l, plain) : link_read_frame(l, &h, plain + FRAME_HEADER);
}

int link_cipher_take(struct link *l)
{
    struct cipher *c = l->cipher;
    if (!c->in_ready) {
        if (buffer_len(&l->in) < CIPHER_HEADER)
            return 0;
        crypto_secretstream_xchacha20poly1305_init_pull(&c->in, buffer_ptr(&l->in), c->way_in.key);
        sodium_memzero(c->way_in.key, sizeof(c->way_in.key));
        buffer_consume(&l->in, CIPHER_HEADER);
        c->in_ready = 1;
    }
    while (buffer_len(&l->in) >= RECORD_HEADER) {
        uint32_t len = get32(buffer_ptr(&l->in));
        if (len < extra_of(c) || len > FRAME_HEADER + FRAME_PAYLOAD_MAX + extra_of(c))
            return link_fails(l, EPROTO, "protocol error: a record of impossible length");
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
