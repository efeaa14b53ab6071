/* SPDX-License-Identifier: BSD-3-Clause */
/* test-key-proof.c - who knows the key gets in, and nobody else, whatever is changed on the way */
#include "wire/link/key-proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t key[HANDSHAKE_KEY] = "the key of a step, 32 bytes long";
static const uint8_t other_key[HANDSHAKE_KEY] = "the key of a step, 32 bytes lonG";

struct pair {
    struct handshake connector, acceptor;
    uint8_t c1[HANDSHAKE_C1], a1[HANDSHAKE_A1], c2[HANDSHAKE_C2];
};

static void begin(struct pair *p, const uint8_t *ckey, const uint8_t *akey, uint32_t host)
{
    handshake_init(&p->connector, ckey, host, HANDSHAKE_ENCRYPT);
    handshake_init(&p->acceptor, akey, 0, HANDSHAKE_ENCRYPT);
    handshake_c1(&p->connector, p->c1);
}

/* How many of the three steps were accepted. */
static int shake(struct pair *p, struct error *e)
{
    if (handshake_take_c1(&p->acceptor, p->c1, p->a1, e) < 0)
        return 0;
    if (handshake_take_a1(&p->connector, p->a1, p->c2, e) < 0)
        return 1;
    return handshake_take_c2(&p->acceptor, p->c2, e) < 0 ? 2 : 3;
}

static void two_who_know_the_key_agree(void **state)
{
    struct pair p;
    struct error e;
    uint8_t up[2][32], down[2][32];
    begin(&p, key, key, 0xdeadbeef);
    assert_int_equal(shake(&p, &e), 3);
    assert_true(p.acceptor.host_id == 0xdeadbeef);
    handshake_direction_key(&p.connector, 1, up[0]);
    handshake_direction_key(&p.acceptor, 1, up[1]);
    handshake_direction_key(&p.connector, 0, down[0]);
    handshake_direction_key(&p.acceptor, 0, down[1]);
    assert_memory_equal(up[0], up[1], 32);
    assert_memory_equal(down[0], down[1], 32);
    assert_memory_not_equal(up[0], down[0], 32);
}

static void each_side_notices_a_wrong_key(void **state)
{
    struct pair p;
    struct error e;
    begin(&p, key, other_key, 1);
    assert_int_equal(shake(&p, &e), 1); /* the connector says nothing more to a false launcher */
    assert_non_null(strstr(e.text, "does not know the step's key"));
    begin(&p, other_key, key, 1);
    handshake_take_c1(&p.acceptor, p.c1, p.a1, &e);
    assert_int_equal(handshake_take_a1(&p.connector, p.a1, p.c2, &e), -1);
    /* a connector that goes on regardless */
    memset(p.c2, 7, sizeof(p.c2));
    assert_int_equal(handshake_take_c2(&p.acceptor, p.c2, &e), -1);
    assert_non_null(strstr(e.text, "does not know the step's key"));
}

static void every_changed_byte_is_noticed(void **state)
{
    struct error e;
    for (int at = 0; at < HANDSHAKE_C1; at++) {
        struct pair p;
        begin(&p, key, key, 5);
        p.c1[at] ^= 0x40;
        assert_in_range(shake(&p, &e), 0, 2);
    }
    for (int at = 0; at < HANDSHAKE_A1; at++) {
        struct pair p;
        begin(&p, key, key, 5);
        handshake_take_c1(&p.acceptor, p.c1, p.a1, &e);
        p.a1[at] ^= 1;
        assert_int_equal(handshake_take_a1(&p.connector, p.a1, p.c2, &e), -1);
    }
    for (int at = 0; at < HANDSHAKE_C2; at++) {
        struct pair p;
        begin(&p, key, key, 5);
        handshake_take_c1(&p.acceptor, p.c1, p.a1, &e);
        handshake_take_a1(&p.connector, p.a1, p.c2, &e);
        p.c2[at] ^= 0x80;
        assert_int_equal(handshake_take_c2(&p.acceptor, p.c2, &e), -1);
    }
}

static void what_was_heard_once_is_of_no_use(void **state)
{
    struct pair first, second;
    struct error e;
    begin(&first, key, key, 1);
    assert_int_equal(shake(&first, &e), 3);
    begin(&second, key, key, 1);
    memcpy(second.c1, first.c1, sizeof(first.c1));
    handshake_take_c1(&second.acceptor, second.c1, second.a1, &e);
    assert_memory_not_equal(second.a1, first.a1, sizeof(first.a1));
    assert_int_equal(handshake_take_c2(&second.acceptor, first.c2, &e), -1);
    /* nor does an acceptor's proof serve as a connector's */
    assert_int_equal(handshake_take_c2(&second.acceptor, second.a1 + 48, &e), -1);
}

static void encryption_cannot_be_talked_away(void **state)
{
    struct pair p;
    struct error e;
    handshake_init(&p.connector, key, 1, 0);
    handshake_init(&p.acceptor, key, 0, HANDSHAKE_ENCRYPT);
    handshake_c1(&p.connector, p.c1);
    assert_int_equal(shake(&p, &e), 0);
    assert_non_null(strstr(e.text, "security"));
    p.c1[16] = HANDSHAKE_ENCRYPT; /* somebody between the two says so for both */
    assert_int_equal(handshake_take_c1(&p.acceptor, p.c1, p.a1, &e), 0);
    assert_int_equal(handshake_take_a1(&p.connector, p.a1, p.c2, &e), -1);
    p.a1[12] = 0;
    assert_int_equal(handshake_take_a1(&p.connector, p.a1, p.c2, &e), -1);
    handshake_init(&p.connector, key, 1, HANDSHAKE_MAC); /* nor can one be had for the other */
    handshake_init(&p.acceptor, key, 0, HANDSHAKE_ENCRYPT);
    handshake_c1(&p.connector, p.c1);
    assert_int_equal(shake(&p, &e), 0);
    assert_non_null(strstr(e.text, "security"));
}

static void another_version_is_named(void **state)
{
    struct pair p;
    struct error e;
    begin(&p, key, key, 1);
    p.c1[8] = 99;
    assert_int_equal(shake(&p, &e), 0);
    assert_non_null(strstr(e.text, "version 99"));
    memset(p.c1, 'x', sizeof(p.c1));
    assert_int_equal(shake(&p, &e), 0);
    assert_non_null(strstr(e.text, "does not speak mprun's protocol"));
}

static void the_key_is_wiped(void **state)
{
    static const struct handshake zero;
    struct pair p;
    begin(&p, key, key, 1);
    handshake_wipe(&p.connector);
    assert_memory_equal(&p.connector, &zero, sizeof(zero));
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
        cmocka_unit_test(the_key_is_wiped),
    };
    return cmocka_run_group_tests(tests, init, NULL);
}
