/* SPDX-License-Identifier: BSD-3-Clause */
/* key-proof.c - proofs with keyed BLAKE2b; comparisons take the same time whatever they find */
#include "wire/link/key-proof.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "wire/little-endian.h"
#include "wire/messages/frame.h"

const uint8_t handshake_magic[HANDSHAKE_MAGIC] = {'m', 'p', 'r', 'u', 'n', 0, '\r', '\n'};

enum { A1_PROOF = 48, CLAIM_PROOF = 24, VERDICT_PROOF = 32 };

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

/* Proves the messages behind C2, too: the first bytes of the claim, and the n bytes after it. */
static void late_proof(const struct handshake *h, const char *label, size_t na1, size_t nclaim,
                       const uint8_t *more, size_t n, uint8_t out[32])
{
    crypto_generichash_state st;
    crypto_generichash_init(&st, h->key, HANDSHAKE_KEY, 32);
    crypto_generichash_update(&st, (const uint8_t *)label, strlen(label) + 1);
    crypto_generichash_update(&st, h->c1, HANDSHAKE_C1);
    crypto_generichash_update(&st, h->a1, na1);
    crypto_generichash_update(&st, h->claim, nclaim);
    crypto_generichash_update(&st, more, n);
    crypto_generichash_final(&st, out, 32);
    sodium_memzero(&st, sizeof(st));
}

static void proof(const struct handshake *h, const char *label, size_t na1, uint8_t out[32])
{
    late_proof(h, label, na1, 0, NULL, 0, out);
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
    memset(h->c1, 0, HANDSHAKE_C1);
    memcpy(h->c1, handshake_magic, HANDSHAKE_MAGIC);
    put32(h->c1 + 8, PROTOCOL_VERSION);
    put32(h->c1 + 12, h->host_id);
    put32(h->c1 + 16, h->flags);
    randombytes_buf(h->c1 + 24, 32);
    memcpy(out, h->c1, HANDSHAKE_C1);
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
    memcpy(h->c1, in, HANDSHAKE_C1);
    h->host_id = get32(in + 12);
    memcpy(h->a1, handshake_magic, HANDSHAKE_MAGIC);
    put32(h->a1 + 8, PROTOCOL_VERSION);
    put32(h->a1 + 12, h->flags);
    randombytes_buf(h->a1 + 16, 32);
    proof(h, "acceptor", A1_PROOF, h->a1 + A1_PROOF);
    memcpy(out, h->a1, HANDSHAKE_A1);
    return 0;
}

int handshake_take_a1(struct handshake *h, const uint8_t in[HANDSHAKE_A1],
                      uint8_t out[HANDSHAKE_C2], struct error *err)
{
    uint8_t expected[32];
    if (check_magic(in, get32(in + 8), err) < 0)
        return -1;
    uint32_t theirs = get32(in + 12);
    if ((theirs | HANDSHAKE_RESUME) != (h->flags | HANDSHAKE_RESUME) || theirs & ~h->flags)
        return error_set(err, EPROTO, "the launcher asks for another link security");
    memcpy(h->a1, in, HANDSHAKE_A1);
    proof(h, "acceptor", A1_PROOF, expected);
    if (sodium_memcmp(expected, in + A1_PROOF, 32) != 0)
        return error_set(err, EACCES, "the peer does not know the step's key");
    h->flags = theirs;
    proof(h, "connector", HANDSHAKE_A1, out);
    return 0;
}

int handshake_take_c2(struct handshake *h, const uint8_t in[HANDSHAKE_C2], struct error *err)
{
    uint8_t expected[32];
    proof(h, "connector", HANDSHAKE_A1, expected);
    if (sodium_memcmp(expected, in, 32) != 0)
        return error_set(err, EACCES, "the peer does not know the step's key");
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

void handshake_claim(struct handshake *h, const struct handshake_session *s,
                     uint8_t out[HANDSHAKE_CLAIM])
{
    pack_session(s, h->claim);
    late_proof(h, "claim", HANDSHAKE_A1, CLAIM_PROOF, NULL, 0, h->claim + CLAIM_PROOF);
    memcpy(out, h->claim, HANDSHAKE_CLAIM);
}

int handshake_take_claim(struct handshake *h, const uint8_t in[HANDSHAKE_CLAIM],
                         struct handshake_session *ret, struct error *err)
{
    uint8_t expected[32];
    memcpy(h->claim, in, HANDSHAKE_CLAIM);
    late_proof(h, "claim", HANDSHAKE_A1, CLAIM_PROOF, NULL, 0, expected);
    if (sodium_memcmp(expected, in + CLAIM_PROOF, 32) != 0)
        return error_set(err, EACCES, "the peer's claim to a link is not authentic");
    unpack_session(in, ret);
    return 0;
}

void handshake_verdict(const struct handshake *h, enum handshake_answer answer,
                       const struct handshake_session *s, uint8_t out[HANDSHAKE_VERDICT])
{
    memset(out, 0, HANDSHAKE_VERDICT);
    put32(out, answer);
    pack_session(s, out + 8);
    late_proof(h, "verdict", HANDSHAKE_A1, HANDSHAKE_CLAIM, out, VERDICT_PROOF,
               out + VERDICT_PROOF);
}

int handshake_take_verdict(const struct handshake *h, const uint8_t in[HANDSHAKE_VERDICT],
                           enum handshake_answer *ret_answer, struct handshake_session *ret,
                           struct error *err)
{
    uint8_t expected[32];
    late_proof(h, "verdict", HANDSHAKE_A1, HANDSHAKE_CLAIM, in, VERDICT_PROOF, expected);
    if (sodium_memcmp(expected, in + VERDICT_PROOF, 32) != 0 || get32(in) > HANDSHAKE_REFUSED)
        return error_set(err, EACCES, "the other end's verdict on a link is not authentic");
    *ret_answer = (enum handshake_answer)get32(in);
    unpack_session(in + 8, ret);
    return 0;
}

void handshake_direction_key(const struct handshake *h, int up, uint8_t out[32])
{
    proof(h, up ? "up" : "down", HANDSHAKE_A1, out);
}
