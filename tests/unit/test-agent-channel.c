/* SPDX-License-Identifier: BSD-3-Clause */
/* test-agent-channel.c - starts on the connection of an agent: read by who has the key, and by
 * nobody else, and not if a byte has changed; and what mpruns say through an agent */
#include "wire/start-channel/agent-channel.h"

#include <errno.h>
#include <limits.h>
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

static const uint8_t *const with_and_without[] = {NULL, key};

static size_t pack(uint32_t number, const uint8_t *with, uint8_t ret[AGENT_MESSAGE_MAX])
{
    uint8_t packed[PREAMBLE_MAX];
    struct error e;
    int n = preamble_pack(&sample, packed, &e);
    assert_true(n > 0);
    return agent_message_pack(number, AGENT_START, packed, (size_t)n, with, ret);
}

static int read_back(const uint8_t *p, size_t n, const uint8_t *with, struct agent_message *ret,
                     struct error *e)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], p, n), n);
    close(ends[1]);
    int rc = agent_message_read(ends[0], with, ret, e);
    close(ends[0]);
    return rc;
}

static void a_start_comes_with_and_without_a_key(void **state)
{
    for (int i = 0; i < 2; i++) {
        const uint8_t *with = with_and_without[i];
        uint8_t packed[AGENT_MESSAGE_MAX];
        struct agent_message m;
        struct preamble p;
        struct error e;
        size_t n = pack(5, with, packed);
        assert_int_equal(read_back(packed, n, with, &m, &e), 0);
        assert_int_equal(m.number, 5);
        assert_int_equal(m.what, AGENT_START);
        assert_int_equal(preamble_unpack(m.data, m.n, &p, &e), 0);
        assert_memory_equal(p.key, sample.key, LINK_KEY);
        assert_string_equal(p.addresses, sample.addresses);
        n = agent_message_pack(6, AGENT_ENDS, NULL, 0, with, packed);
        assert_int_equal(read_back(packed, n, with, &m, &e), 0);
        assert_int_equal(m.what, AGENT_ENDS);
        assert_int_equal(m.n, 0);
    }
}

static void the_longest_message_comes(void **state)
{
    uint8_t data[AGENT_DATA_MAX], packed[AGENT_MESSAGE_MAX];
    struct agent_message m;
    struct error e;
    memset(data, 7, sizeof(data));
    for (int i = 0; i < 2; i++) {
        size_t n =
            agent_message_pack(1, AGENT_PASS, data, sizeof(data), with_and_without[i], packed);
        assert_in_range(n, 1, PIPE_BUF);
        assert_int_equal(read_back(packed, n, with_and_without[i], &m, &e), 0);
        assert_int_equal(m.n, sizeof(data));
        assert_memory_equal(m.data, data, sizeof(data));
    }
    packed[4] = packed[5] = 255;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read_back(packed, sizeof(packed), with_and_without[i], &m, &e), -1);
        assert_int_equal(e.code, EPROTO);
    }
}

static void the_steps_key_is_not_seen_on_a_connection(void **state)
{
    uint8_t start[AGENT_MESSAGE_MAX];
    size_t n = pack(5, key, start);
    assert_null(memmem(start, n, sample.key, LINK_KEY));
    n = pack(5, NULL, start);
    assert_non_null(memmem(start, n, sample.key, LINK_KEY));
}

static void a_changed_byte_or_another_number_or_key_is_refused(void **state)
{
    static const uint8_t other[LINK_KEY] = "another key";
    uint8_t start[AGENT_MESSAGE_MAX];
    struct agent_message m;
    struct error e;
    size_t n = pack(5, key, start);
    assert_int_equal(read_back(start, n, other, &m, &e), -1);
    for (size_t i = 0; i < n; i++) {
        start[i] ^= 1;
        assert_int_equal(read_back(start, n, key, &m, &e), -1);
        start[i] ^= 1;
    }
    assert_int_equal(read_back(start, n - 1, key, &m, &e), -1);
    assert_int_equal(read_back(start, 0, key, &m, &e), -1);
    assert_int_equal(e.code, 0);
}

/* Writes a line as it is read: without its newline. */
static void write_line(const void *p, size_t n, const uint8_t *with, char ret[AGENT_LINE_MAX])
{
    size_t length = agent_pass_line(3, 9, p, n, with, ret);
    assert_in_range(length, 257, AGENT_LINE_MAX - 1);
    assert_int_equal(ret[length - 1], '\n');
    ret[length - 1] = 0;
}

static void what_an_mprun_says_comes_in_lines(void **state)
{
    uint8_t said[AGENT_PASS_MAX], ret[AGENT_PASS_MAX];
    char line[AGENT_LINE_MAX];
    uint32_t mprun, number;
    for (size_t i = 0; i < sizeof(said); i++)
        said[i] = (uint8_t)(i * 7);
    for (int i = 0; i < 2; i++)
        for (size_t n = 0; n <= sizeof(said); n += n < 8 ? 1 : 59) {
            size_t got;
            write_line(said, n, with_and_without[i], line);
            assert_int_equal(agent_pass_read(line, with_and_without[i], &mprun, &number, ret, &got),
                             1);
            assert_int_equal(mprun, 3);
            assert_int_equal(number, 9);
            assert_int_equal(got, n);
            assert_memory_equal(ret, said, n);
        }
}

static void a_line_that_is_changed_cut_or_another_one_is_not_read(void **state)
{
    uint8_t ret[AGENT_PASS_MAX];
    char line[AGENT_LINE_MAX];
    uint32_t mprun, number;
    size_t got;
    write_line(sample.key, LINK_KEY, key, line);
    assert_null(strstr(line, "bytes of key"));
    assert_int_equal(agent_pass_read(line, NULL, &mprun, &number, ret, &got), 1);
    assert_memory_not_equal(ret, sample.key, LINK_KEY);
    for (size_t i = strlen("<mprun-pass-1 3 "); line[i] != '.'; i++) {
        char was = line[i];
        line[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(agent_pass_read(line, key, &mprun, &number, ret, &got), -1);
        line[i] = 0;
        assert_int_equal(agent_pass_read(line, key, &mprun, &number, ret, &got), -1);
        line[i] = was;
    }
    size_t begin = strlen("<mprun-pass-1 3 9 ");
    memset(line + begin, 'A', sizeof(line) - begin);
    line[AGENT_LINE_MAX - 1] = 0;
    assert_int_equal(agent_pass_read(line, NULL, &mprun, &number, ret, &got), -1);
    assert_int_equal(agent_pass_read("mpstarter: on n1: fork", key, &mprun, &number, ret, &got), 0);
    agent_ended_line(5, 0, line);
    assert_int_equal(agent_pass_read(line, key, &mprun, &number, ret, &got), 0);
    assert_true(agent_ended_read(line, &number, &(int){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_comes_with_and_without_a_key),
        cmocka_unit_test(the_longest_message_comes),
        cmocka_unit_test(the_steps_key_is_not_seen_on_a_connection),
        cmocka_unit_test(a_changed_byte_or_another_number_or_key_is_refused),
        cmocka_unit_test(what_an_mprun_says_comes_in_lines),
        cmocka_unit_test(a_line_that_is_changed_cut_or_another_one_is_not_read),
    };
    assert_int_equal(handshake_library_init(NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
