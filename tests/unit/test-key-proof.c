/* SPDX-License-Identifier: BSD-3-Clause */
/* test-key-proof.c - who knows the key gets in, and nobody else, whatever is changed on the way;
 * who knows it and only listens cannot make the keys of a connection */
#include "wire/link/key-proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t key[HANDSHAKE_KEY] = "the key of a step, 32 bytes long";
static const uint8_t other_key[HANDSHAKE_KEY] = "the key of a step, 32 bytes lonG";

struct pair {
    struct handshake connector, acceptor;
    struct handshake_session claim, given;
    enum handshake_answer answer;
    uint8_t c1[HANDSHAKE_C1], a1[HANDSHAKE_A1], c2[HANDSHAKE_C2], a2[HANDSHAKE_A2];
};

static void begin_with(struct pair *p, const uint8_t *ckey, uint32_t cflags, const uint8_t *akey,
                       uint32_t aflags)
{
    memset(p, 0, sizeof(*p));
    handshake_init(&p->connector, ckey, 5, cflags);
    handshake_init(&p->acceptor, akey, 0, aflags);
    handshake_c1(&p->connector, p->c1);
}

static void begin(struct pair *p, const uint8_t *ckey, const uint8_t *akey)
{
    begin_with(p, ckey, HANDSHAKE_ENCRYPT, akey, HANDSHAKE_ENCRYPT);
}

/* Goes on with the messages in p. How many of the four were accepted. */
static int take_c2(struct pair *p, struct error *e)
{
    if (handshake_take_c2(&p->acceptor, p->c2, &p->claim, e) < 0)
        return 2;
    handshake_a2(&p->acceptor, HANDSHAKE_RESUMED, &p->given, p->a2);
    return 3;
}

static int take_a1(struct pair *p, struct error *e)
{
    if (handshake_take_a1(&p->connector, p->a1, e) < 0)
        return 1;
    handshake_c2(&p->connector, &p->given, p->c2);
    return take_c2(p, e);
}

static int take_a2(struct pair *p, struct error *e)
{
    struct handshake_session theirs;
    return handshake_take_a2(&p->connector, p->a2, &p->answer, &theirs, e) < 0 ? 3 : 4;
}

static int shake(struct pair *p, struct error *e)
{
    if (handshake_take_c1(&p->acceptor, p->c1, p->a1, e) < 0)
        return 0;
    int n = take_a1(p, e);
    return n == 3 ? take_a2(p, e) : n;
}

/* Of both directions, which both ends agree on. */
static void keys(const struct pair *p, uint8_t out[64])
{
    uint8_t again[64];
    for (int up = 0; up < 2; up++) {
        handshake_direction_key(&p->connector, up, out + (ptrdiff_t)32 * up);
        handshake_direction_key(&p->acceptor, up, again + (ptrdiff_t)32 * up);
    }
    assert_memory_equal(out, again, 64);
}

static void two_who_know_the_key_agree(void **state)
{
    struct pair p;
    struct error e;
    uint8_t k[64];
    begin(&p, key, key);
    memset(&p.given, 'x', sizeof(p.given));
    assert_int_equal(shake(&p, &e), 4);
    assert_int_equal(p.acceptor.host_id, 5);
    assert_int_equal(p.answer, HANDSHAKE_RESUMED);
    assert_memory_equal(&p.claim, &p.given, sizeof(p.given));
    keys(&p, k);
    assert_memory_not_equal(k, k + 32, 32);
}

static void each_side_notices_a_wrong_key(void **state)
{
    struct pair p;
    struct error e;
    begin(&p, key, other_key);
    assert_int_equal(shake(&p, &e), 1); /* the connector says nothing more to a false launcher */
    assert_non_null(strstr(e.text, "does not know the step's key"));
    begin(&p, other_key, key);
    assert_int_equal(shake(&p, &e), 1);
    /* a connector that goes on regardless */
    memset(p.c2, 7, sizeof(p.c2));
    assert_int_equal(take_c2(&p, &e), 2);
    assert_non_null(strstr(e.text, "does not know the step's key"));
}

/* Public keys are among them: nobody between the two can put in one of his own. */
static void every_changed_byte_is_noticed(void **state)
{
    struct error e;
    struct pair p, whole;
    for (int at = 0; at < HANDSHAKE_C1; at++) {
        begin(&p, key, key);
        p.c1[at] ^= 0x40;
        assert_in_range(shake(&p, &e), 0, 1);
    }
    begin(&whole, key, key);
    assert_int_equal(handshake_take_c1(&whole.acceptor, whole.c1, whole.a1, &e), 0);
    for (int at = 0; at < HANDSHAKE_A1; at++) {
        p = whole;
        p.a1[at] ^= 1;
        assert_int_equal(take_a1(&p, &e), 1);
    }
    assert_int_equal(take_a1(&whole, &e), 3);
    for (int at = 0; at < HANDSHAKE_C2; at++) {
        p = whole;
        p.c2[at] ^= 0x80;
        assert_int_equal(take_c2(&p, &e), 2);
    }
    for (int at = 0; at < HANDSHAKE_A2; at++) {
        p = whole;
        p.a2[at] ^= 2;
        assert_int_equal(take_a2(&p, &e), 3);
    }
    assert_int_equal(take_a2(&whole, &e), 4);
}

static void what_was_heard_once_is_of_no_use(void **state)
{
    struct pair first, second;
    struct error e;
    begin(&first, key, key);
    assert_int_equal(shake(&first, &e), 4);
    begin(&second, key, key);
    memcpy(second.c1, first.c1, sizeof(first.c1));
    handshake_take_c1(&second.acceptor, second.c1, second.a1, &e);
    assert_memory_not_equal(second.a1, first.a1, sizeof(first.a1));
    memcpy(second.c2, first.c2, sizeof(first.c2));
    assert_int_equal(take_c2(&second, &e), 2);
    /* nor does an acceptor's proof serve as a connector's */
    memcpy(second.c2 + HANDSHAKE_C2 - 32, second.a1 + HANDSHAKE_A1 - 32, 32);
    assert_int_equal(take_c2(&second, &e), 2);
}

static void encryption_cannot_be_talked_away(void **state)
{
    struct pair p;
    struct error e;
    begin_with(&p, key, 0, key, HANDSHAKE_ENCRYPT);
    assert_int_equal(shake(&p, &e), 0);
    assert_non_null(strstr(e.text, "security"));
    p.c1[16] = HANDSHAKE_ENCRYPT; /* somebody between the two says so for both */
    assert_int_equal(shake(&p, &e), 1);
    p.a1[12] = 0;
    assert_int_equal(take_a1(&p, &e), 1);
    begin_with(&p, key, HANDSHAKE_MAC, key, HANDSHAKE_ENCRYPT); /* nor one had for the other */
    assert_int_equal(shake(&p, &e), 0);
    assert_non_null(strstr(e.text, "security"));
}

/* ---- listeners ------------------------------------------------------------------------------- */

/* Gives the two nonces of each handshake the same bytes; all else is random. */
static int nonces_left;

static void some_bytes(void *to, size_t n)
{
    memset(to, 'n', n);
    if (--nonces_left < 0)
        randombytes_sysrandom_implementation.buf(to, n);
}

static const char *its_name(void)
{
    return "repeats nonces";
}

static void the_key_and_all_that_is_sent_do_not_give_the_keys_of_a_connection(void **state)
{
    struct randombytes_implementation repeating = randombytes_sysrandom_implementation;
    struct pair p[2];
    struct error e;
    uint8_t k[2][64];
    repeating.buf = some_bytes;
    repeating.implementation_name = its_name;
    for (uint32_t flags = HANDSHAKE_ENCRYPT; flags <= HANDSHAKE_MAC; flags *= 4) {
        randombytes_set_implementation(&repeating);
        for (int i = 0; i < 2; i++) {
            nonces_left = 2;
            begin_with(&p[i], key, flags, key, flags);
            assert_int_equal(shake(&p[i], &e), 4);
            keys(&p[i], k[i]);
        }
        randombytes_set_implementation(&randombytes_sysrandom_implementation);
        assert_memory_equal(p[0].c1, p[1].c1, HANDSHAKE_C1);
        assert_memory_equal(p[0].a1, p[1].a1, HANDSHAKE_A1);
        assert_memory_not_equal(k[0], k[1], 32);
        assert_memory_not_equal(k[0] + 32, k[1] + 32, 32);
    }
}

/* Such a peer knows the key, and makes a secret that everybody knows. */
static void a_weak_public_key_is_refused(void **state)
{
    crypto_generichash_state st;
    struct pair p;
    struct error e;
    begin(&p, key, key);
    assert_int_equal(shake(&p, &e), 4);
    memset(p.c2 + 24, 0, HANDSHAKE_X25519);
    crypto_generichash_init(&st, key, sizeof(key), 32);
    crypto_generichash_update(&st, (const uint8_t *)"connector", sizeof("connector"));
    crypto_generichash_update(&st, p.c1, sizeof(p.c1));
    crypto_generichash_update(&st, p.a1, sizeof(p.a1));
    crypto_generichash_update(&st, p.c2, sizeof(p.c2) - 32);
    crypto_generichash_final(&st, p.c2 + sizeof(p.c2) - 32, 32);
    assert_int_equal(take_c2(&p, &e), 2);
    assert_string_equal(e.text, "the peer's public key is weak");
}

static void no_secret_is_kept_once_it_has_served(void **state)
{
    static const uint8_t zeros[HANDSHAKE_X25519];
    struct pair p;
    struct error e;
    begin(&p, key, key);
    assert_int_equal(shake(&p, &e), 4);
    assert_memory_equal(p.connector.secret, zeros, sizeof(zeros));
    assert_memory_equal(p.acceptor.secret, zeros, sizeof(zeros));
    handshake_wipe(&p.connector);
    for (size_t i = 0; i < sizeof(p.connector); i++)
        assert_int_equal(((const uint8_t *)&p.connector)[i], 0);
}

static void another_version_is_named(void **state)
{
    struct pair p;
    struct error e;
    begin(&p, key, key);
    p.c1[8] = 99;
    assert_int_equal(shake(&p, &e), 0);
    assert_non_null(strstr(e.text, "version 99"));
    memset(p.c1, 'x', sizeof(p.c1));
    assert_int_equal(shake(&p, &e), 0);
    assert_non_null(strstr(e.text, "does not speak mprun's protocol"));
}

static int init(void **state)
{
    struct error e;
    return handshake_library_init(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_who_know_the_key_agree),
        cmocka_unit_test(each_side_notices_a_wrong_key),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(what_was_heard_once_is_of_no_use),
        cmocka_unit_test(encryption_cannot_be_talked_away),
        cmocka_unit_test(another_version_is_named),
        cmocka_unit_test(the_key_and_all_that_is_sent_do_not_give_the_keys_of_a_connection),
        cmocka_unit_test(a_weak_public_key_is_refused),
        cmocka_unit_test(no_secret_is_kept_once_it_has_served),
    };
    return cmocka_run_group_tests(tests, init, NULL);
}
