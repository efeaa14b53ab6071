/* SPDX-License-Identifier: BSD-3-Clause */
/* key-proof.h - both ends of a link prove that they know the step key: bytes only, no I/O
 *
 *     connector -> acceptor   C1: magic "mprun\0\r\n" (8), version (4), host id (4), flags (4),
 *                                 zero (4), nonce (32)                               56 bytes
 *     acceptor -> connector   A1: magic (8), version (4), flags (4), nonce (32),
 *                                 proof = BLAKE2b(key, "acceptor" C1 A1[0..48)) (32)  80 bytes
 *     connector -> acceptor   C2: session (16), frames received (8), public key (32),
 *                                 proof = BLAKE2b(key, "connector" C1 A1 C2[0..56)) (32)
 *                                                                                     88 bytes
 *     acceptor -> connector   A2: verdict (4), zero (4), session (16), frames received (8),
 *                                 public key (32),
 *                                 proof = BLAKE2b(key, "verdict" C1 A1 C2 A2[0..64)) (32)
 *                                                                                     96 bytes
 *
 * If both ends ask for links that can be resumed (a flag), a session of zeros in C2 asks for a new
 * link. Any other session names an interrupted link: the connection goes on with it, and each end
 * sends from the first frame that the other has not received.
 *
 * Integers are little endian. If frames are protected, each end makes a pair of X25519 keys for
 * each connection, after the peer has proved the key; else the public keys are zeros. The keys of
 * the two directions are BLAKE2b(key, "up"|"down" C1 A1 C2 A2 X25519). So an eavesdropper who has
 * read the step key cannot make these keys, then or later. Nonces are fresh, so nothing can be
 * replayed. The proofs cover flags and public keys, so nobody without the key can change them on
 * the way. */
#pragma once

#include <stdint.h>

#include "common/error.h"

enum {
    HANDSHAKE_KEY = 32,
    HANDSHAKE_MAGIC = 8,
    HANDSHAKE_C1 = 56,
    HANDSHAKE_A1 = 80,
    HANDSHAKE_C2 = 88,
    HANDSHAKE_A2 = 96,
    HANDSHAKE_SAID = HANDSHAKE_C1 + HANDSHAKE_A1 + HANDSHAKE_C2 + HANDSHAKE_A2,
    HANDSHAKE_X25519 = 32, /* secret, public and shared */
    HANDSHAKE_SESSION = 16,
    HANDSHAKE_ENCRYPT = 1, /* flag: both ends must want the same */
    HANDSHAKE_RESUME = 2,  /* flag: when both ends want it */
    HANDSHAKE_MAC = 4,     /* flag, as HANDSHAKE_ENCRYPT */
};
extern const uint8_t handshake_magic[HANDSHAKE_MAGIC];

struct handshake {
    uint8_t key[HANDSHAKE_KEY];
    uint8_t said[HANDSHAKE_SAID + HANDSHAKE_X25519]; /* C1, A1, C2, A2; then the shared secret */
    uint8_t secret[HANDSHAKE_X25519];                /* until the peer's public key has come */
    uint32_t host_id;                                /* the connector's */
    uint32_t flags; /* wanted by this end; after C1 and A1: wanted by both */
};

enum handshake_answer { HANDSHAKE_NEW, HANDSHAKE_RESUMED, HANDSHAKE_REFUSED };

/* A link that can be resumed, and the number of frames that this end has received over it. */
struct handshake_session {
    uint8_t id[HANDSHAKE_SESSION];
    uint64_t received;
};

/* Prepares libsodium. Call it once per program, before all else here. -1 with err. */
int handshake_library_init(struct error *err);
void handshake_init(struct handshake *h, const uint8_t key[HANDSHAKE_KEY], uint32_t host_id,
                    uint32_t flags);
void handshake_wipe(struct handshake *h);

/* Connector: makes C1; takes A1; makes C2; takes A2. -1 with err refuses the peer; so below. */
void handshake_c1(struct handshake *h, uint8_t out[HANDSHAKE_C1]);
int handshake_take_a1(struct handshake *h, const uint8_t in[HANDSHAKE_A1], struct error *err);
void handshake_c2(struct handshake *h, const struct handshake_session *s,
                  uint8_t out[HANDSHAKE_C2]);
int handshake_take_a2(struct handshake *h, const uint8_t in[HANDSHAKE_A2],
                      enum handshake_answer *ret_answer, struct handshake_session *ret,
                      struct error *err);
/* Acceptor: takes C1 (sets host_id) and makes A1; takes C2; makes A2, of which the last counts. */
int handshake_take_c1(struct handshake *h, const uint8_t in[HANDSHAKE_C1],
                      uint8_t out[HANDSHAKE_A1], struct error *err);
int handshake_take_c2(struct handshake *h, const uint8_t in[HANDSHAKE_C2],
                      struct handshake_session *ret, struct error *err);
void handshake_a2(struct handshake *h, enum handshake_answer answer,
                  const struct handshake_session *s, uint8_t out[HANDSHAKE_A2]);
/* After a successful handshake: makes the key of one direction. up: connector to acceptor. */
void handshake_direction_key(const struct handshake *h, int up, uint8_t out[32]);
