/* SPDX-License-Identifier: BSD-3-Clause */
/* test-agent-channel.c - starts on the connection of an agent: read by who has the key, and by
 * nobody else, and not if a byte has changed */
#include "wire/start-channel/agent-channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "wire/link/key-proof.h"

static const struct preamble sample = {
    .key = "thirty-two bytes of key material",
    .host_id = 7,
    .flags = PREAMBLE_ENCRYPT,
    .addresses = "tcp:127.0.0.1:4711",
};
static const uint8_t key[LINK_KEY] = "the key of a connection";

static size_t pack(uint32_t number, const uint8_t *with, uint8_t ret[AGENT_START_MAX])
{
    uint8_t packed[PREAMBLE_MAX];
    struct error e;
    int n = preamble_pack(&sample, packed, &e);
    assert_true(n > 0);
    return agent_start_pack(number, packed, (size_t)n, with, ret);
}

static int read_back(const uint8_t *p, size_t n, const uint8_t *with, uint32_t *number,
                     struct preamble *ret, struct error *e)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], p, n), n);
    close(ends[1]);
    int rc = agent_start_read(ends[0], with, number, ret, e);
    close(ends[0]);
    return rc;
}

static void a_start_comes_with_and_without_a_key(void **state)
{
    const uint8_t *const with[] = {NULL, key};
    for (int i = 0; i < 2; i++) {
        uint8_t start[AGENT_START_MAX];
        struct preamble p = {.host_id = 0};
        struct error e;
        uint32_t number;
        size_t n = pack(5, with[i], start);
        assert_int_equal(read_back(start, n, with[i], &number, &p, &e), 0);
        assert_int_equal(number, 5);
        assert_memory_equal(p.key, sample.key, LINK_KEY);
        assert_string_equal(p.addresses, sample.addresses);
        n = agent_start_pack(AGENT_ENDS, NULL, 0, with[i], start);
        assert_int_equal(read_back(start, n, with[i], &number, &p, &e), 0);
        assert_int_equal(number, AGENT_ENDS);
    }
}

static void the_steps_key_is_not_seen_on_a_connection(void **state)
{
    uint8_t start[AGENT_START_MAX];
    size_t n = pack(5, key, start);
    assert_null(memmem(start, n, sample.key, LINK_KEY));
    n = pack(5, NULL, start);
    assert_non_null(memmem(start, n, sample.key, LINK_KEY));
}

static void a_changed_byte_or_another_number_or_key_is_refused(void **state)
{
    static const uint8_t other[LINK_KEY] = "another key";
    uint8_t start[AGENT_START_MAX];
    struct preamble p;
    struct error e;
    uint32_t number;
    size_t n = pack(5, key, start);
    assert_int_equal(read_back(start, n, other, &number, &p, &e), -1);
    for (size_t i = 0; i < n; i++) {
        start[i] ^= 1;
        assert_int_equal(read_back(start, n, key, &number, &p, &e), -1);
        start[i] ^= 1;
    }
    assert_int_equal(read_back(start, n - 1, key, &number, &p, &e), -1);
    assert_int_equal(read_back(start, 0, key, &number, &p, &e), -1);
    assert_int_equal(e.code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_comes_with_and_without_a_key),
        cmocka_unit_test(the_steps_key_is_not_seen_on_a_connection),
        cmocka_unit_test(a_changed_byte_or_another_number_or_key_is_refused),
    };
    assert_int_equal(handshake_library_init(NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
