/* SPDX-License-Identifier: BSD-3-Clause */
/* key-proof.c - proofs with keyed BLAKE2b; comparisons take the same time whatever they find */
#include "wire/link/key-proof.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "wire/little-endian.h"
#include "wire/messages/frame.h"

const uint8_t handshake_magic[HANDSHAKE_MAGIC] = {'m', 'p', 'r', 'u', 'n', 0, '\r', '\n'};

enum {
    /* where the messages are in `said` */
    C1 = 0,
    A1 = C1 + HANDSHAKE_C1,
    C2 = A1 + HANDSHAKE_A1,
    A2 = C2 + HANDSHAKE_C2,
    /* where the values are in them: a proof ends its message, a public key is before the proof */
    PROOF = 32,
    C1_NONCE = 24,
    A1_NONCE = 16,
    C2_PUBLIC = C2 + HANDSHAKE_C2 - PROOF - HANDSHAKE_X25519,
    A2_PUBLIC = A2 + HANDSHAKE_A2 - PROOF - HANDSHAKE_X25519,
    A2_SESSION = 8,
};

int handshake_library_init(struct error *err)
{
    if (sodium_init() < 0)
        return error_set(err, EIO, "initialise libsodium: no source of random numbers");
    return 0;
}

void handshake_init(struct handshake *h, const uint8_t key[HANDSHAKE_KEY], uint32_t host_id,
                    uint32_t flags)
{
    memset(h, 0, sizeof(*h));
    memcpy(h->key, key, HANDSHAKE_KEY);
    h->host_id = host_id;
    h->flags = flags;
}

void handshake_wipe(struct handshake *h)
{
    sodium_memzero(h, sizeof(*h));
}

/* Computes the keyed hash of the first n bytes of `said`. */
static void proof(const struct handshake *h, const char *label, size_t n, uint8_t out[PROOF])
{
    crypto_generichash_state st;
    crypto_generichash_init(&st, h->key, HANDSHAKE_KEY, PROOF);
    crypto_generichash_update(&st, (const uint8_t *)label, strlen(label) + 1);
    crypto_generichash_update(&st, h->said, n);
    crypto_generichash_final(&st, out, PROOF);
    sodium_memzero(&st, sizeof(st));
}

/* Adds the proof to a message of n bytes that is complete except for it. */
static void say(struct handshake *h, const char *label, size_t at, size_t n, uint8_t *out)
{
    proof(h, label, at + n - PROOF, h->said + at + n - PROOF);
    memcpy(out, h->said + at, n);
}

static int take_proved(struct handshake *h, const char *label, size_t at, const uint8_t *in,
                       size_t n, struct error *err)
{
    uint8_t expected[PROOF];
    memcpy(h->said + at, in, n);
    proof(h, label, at + n - PROOF, expected);
    if (sodium_memcmp(expected, in + n - PROOF, PROOF) != 0)
        return error_set(err, EACCES, "the peer does not know the step's key");
    return 0;
}

static void make_keys(struct handshake *h, size_t public)
{
    if (h->flags & (HANDSHAKE_ENCRYPT | HANDSHAKE_MAC))
        crypto_kx_keypair(h->said + public, h->secret);
}

static int share_secret(struct handshake *h, size_t their_public, struct error *err)
{
    if (!(h->flags & (HANDSHAKE_ENCRYPT | HANDSHAKE_MAC)))
        return 0;
    int rc = crypto_scalarmult(h->said + HANDSHAKE_SAID, h->secret, h->said + their_public);
    sodium_memzero(h->secret, sizeof(h->secret));
    if (rc < 0) /* everybody knows the product with such a key */
        return error_set(err, EPROTO, "the peer's public key is weak");
    return 0;
}

static int check_magic(const uint8_t *in, uint32_t version, struct error *err)
{
    if (memcmp(in, handshake_magic, HANDSHAKE_MAGIC) != 0)
        return error_set(err, EPROTO, "the peer does not speak mprun's protocol");
    if (version != PROTOCOL_VERSION)
        return error_set(err, EPROTO,
                         "the peer speaks version %u of the protocol, this mprun version %d",
                         version, PROTOCOL_VERSION);
    return 0;
}

void handshake_c1(struct handshake *h, uint8_t out[HANDSHAKE_C1])
{
    uint8_t *c1 = h->said + C1;
    memset(c1, 0, HANDSHAKE_C1);
    memcpy(c1, handshake_magic, HANDSHAKE_MAGIC);
    put32(c1 + 8, PROTOCOL_VERSION);
    put32(c1 + 12, h->host_id);
    put32(c1 + 16, h->flags);
    randombytes_buf(c1 + C1_NONCE, HANDSHAKE_C1 - C1_NONCE);
    memcpy(out, c1, HANDSHAKE_C1);
}

int handshake_take_c1(struct handshake *h, const uint8_t in[HANDSHAKE_C1],
                      uint8_t out[HANDSHAKE_A1], struct error *err)
{
    if (check_magic(in, get32(in + 8), err) < 0)
        return -1;
    uint32_t theirs = get32(in + 16);
    if ((theirs ^ h->flags) & ~(uint32_t)HANDSHAKE_RESUME)
        return error_set(err, EPROTO, "the peer asks for another link security (%u, here %u)",
                         theirs, h->flags);
    h->flags &= theirs;
    memcpy(h->said + C1, in, HANDSHAKE_C1);
    h->host_id = get32(in + 12);
    uint8_t *a1 = h->said + A1;
    memcpy(a1, handshake_magic, HANDSHAKE_MAGIC);
    put32(a1 + 8, PROTOCOL_VERSION);
    put32(a1 + 12, h->flags);
    randombytes_buf(a1 + A1_NONCE, HANDSHAKE_A1 - PROOF - A1_NONCE);
    say(h, "acceptor", A1, HANDSHAKE_A1, out);
    return 0;
}

int handshake_take_a1(struct handshake *h, const uint8_t in[HANDSHAKE_A1], struct error *err)
{
    if (check_magic(in, get32(in + 8), err) < 0)
        return -1;
    uint32_t theirs = get32(in + 12);
    if ((theirs | HANDSHAKE_RESUME) != (h->flags | HANDSHAKE_RESUME) || theirs & ~h->flags)
        return error_set(err, EPROTO, "the launcher asks for another link security");
    if (take_proved(h, "acceptor", A1, in, HANDSHAKE_A1, err) < 0)
        return -1;
    h->flags = theirs;
    return 0;
}

static void pack_session(const struct handshake_session *s, uint8_t *to)
{
    memcpy(to, s->id, HANDSHAKE_SESSION);
    put64(to + HANDSHAKE_SESSION, s->received);
}

static void unpack_session(const uint8_t *from, struct handshake_session *ret)
{
    memcpy(ret->id, from, HANDSHAKE_SESSION);
    ret->received = get64(from + HANDSHAKE_SESSION);
}

void handshake_c2(struct handshake *h, const struct handshake_session *s, uint8_t out[HANDSHAKE_C2])
{
    pack_session(s, h->said + C2);
    make_keys(h, C2_PUBLIC);
    say(h, "connector", C2, HANDSHAKE_C2, out);
}

int handshake_take_c2(struct handshake *h, const uint8_t in[HANDSHAKE_C2],
                      struct handshake_session *ret, struct error *err)
{
    if (take_proved(h, "connector", C2, in, HANDSHAKE_C2, err) < 0)
        return -1;
    unpack_session(in, ret);
    make_keys(h, A2_PUBLIC);
    return share_secret(h, C2_PUBLIC, err);
}

void handshake_a2(struct handshake *h, enum handshake_answer answer,
                  const struct handshake_session *s, uint8_t out[HANDSHAKE_A2])
{
    put32(h->said + A2, answer);
    pack_session(s, h->said + A2 + A2_SESSION);
    say(h, "verdict", A2, HANDSHAKE_A2, out);
}

int handshake_take_a2(struct handshake *h, const uint8_t in[HANDSHAKE_A2],
                      enum handshake_answer *ret_answer, struct handshake_session *ret,
                      struct error *err)
{
    if (take_proved(h, "verdict", A2, in, HANDSHAKE_A2, err) < 0)
        return -1;
    if (get32(in) > HANDSHAKE_REFUSED)
        return error_set(err, EPROTO, "the peer gives an unknown verdict");
    *ret_answer = (enum handshake_answer)get32(in);
    unpack_session(in + A2_SESSION, ret);
    return share_secret(h, A2_PUBLIC, err);
}

void handshake_direction_key(const struct handshake *h, int up, uint8_t out[32])
{
    proof(h, up ? "up" : "down", sizeof(h->said), out);
}
