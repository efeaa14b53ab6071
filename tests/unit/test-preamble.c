/* SPDX-License-Identifier: BSD-3-Clause */
/* test-preamble.c - start parameters are found behind any noise, and not a byte more is taken */
#include "wire/start-channel/preamble.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const struct preamble sample = {
    .link_grace = 77,
    .key = "thirty-two bytes of key material",
    .host_id = 0x01020304,
    .flags = PREAMBLE_ENCRYPT | PREAMBLE_PMI,
    .launcher = 4242,
    .addresses = "unix:/run/user/0/mprun-x/link tcp:127.0.0.1:4711",
};

static size_t packed(uint8_t out[PREAMBLE_MAX])
{
    struct error e;
    int n = preamble_pack(&sample, out, &e);
    assert_true(n > 0);
    return (size_t)n;
}

static void is_sample(const struct preamble *p)
{
    assert_memory_equal(p->key, sample.key, LINK_KEY);
    assert_true(p->host_id == sample.host_id);
    assert_true(p->flags == sample.flags);
    assert_int_equal(p->launcher, 4242);
    assert_string_equal(p->addresses, sample.addresses);
}

/* What comes out of a descriptor into which these bytes were written. */
static int read_from(const void *bytes, size_t n, struct preamble *ret, char *rest, struct error *e)
{
    int pair[2], room = 1 << 20;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    assert_int_equal(write(pair[1], bytes, n), n);
    shutdown(pair[1], SHUT_WR);
    int r = preamble_read(pair[0], ret, e);
    ssize_t left = read(pair[0], rest, 63);
    rest[left > 0 ? left : 0] = 0;
    close(pair[0]);
    close(pair[1]);
    return r;
}

static void what_was_packed_comes_back(void **state)
{
    uint8_t bytes[PREAMBLE_MAX];
    struct preamble got;
    struct error e;
    char rest[64];
    size_t n = packed(bytes);
    assert_int_equal(read_from(bytes, n, &got, rest, &e), 0);
    is_sample(&got);
    got = (struct preamble){.host_id = 0};
    assert_int_equal(preamble_unpack(bytes, n, &got, &e), 0);
    is_sample(&got);
}

static void every_part_of_it_is_too_little(void **state)
{
    uint8_t bytes[PREAMBLE_MAX];
    struct preamble got;
    struct error e;
    char rest[64];
    size_t n = packed(bytes);
    for (size_t part = 0; part < n; part++) {
        assert_int_equal(read_from(bytes, part, &got, rest, &e), -1);
        assert_int_equal(preamble_unpack(bytes, part, &got, &e), -1);
    }
    assert_int_equal(preamble_unpack(bytes, n + 1, &got, &e), -1);
}

static void nothing_behind_it_is_taken(void **state)
{
    uint8_t bytes[PREAMBLE_MAX + 20];
    struct preamble got;
    struct error e;
    char rest[64];
    size_t n = packed(bytes);
    memcpy(bytes + n, "what follows", 12);
    assert_int_equal(read_from(bytes, n + 12, &got, rest, &e), 0);
    is_sample(&got);
    assert_string_equal(rest, "what follows");
}

static void noise_before_it_is_skipped(void **state)
{
    static const char noise[] = "Welcome to n12!\nmprun-start-\n\nmprun-start-1\nmodule loaded";
    uint8_t bytes[PREAMBLE_MAX + sizeof(noise)];
    struct preamble got;
    struct error e;
    char rest[64];
    memcpy(bytes, noise, sizeof(noise) - 1);
    size_t n = packed(bytes + sizeof(noise) - 1) + sizeof(noise) - 1;
    assert_int_equal(read_from(bytes, n, &got, rest, &e), 0);
    is_sample(&got);
}

static void noise_without_end_is_refused(void **state)
{
    size_t n = 100000;
    char *bytes = malloc(n), rest[64];
    struct preamble got;
    struct error e;
    memset(bytes, '\n', n);
    assert_int_equal(read_from(bytes, n, &got, rest, &e), -1);
    assert_non_null(strstr(e.text, "no start parameters"));
    free(bytes);
}

static void an_early_end_is_explained(void **state)
{
    struct preamble got;
    struct error e;
    char rest[64];
    uint8_t bytes[PREAMBLE_MAX];
    size_t n = packed(bytes);
    assert_int_equal(read_from("", 0, &got, rest, &e), -1);
    assert_non_null(strstr(e.text, "not by hand"));
    assert_int_equal(read_from(bytes, n - 1, &got, rest, &e), -1);
    assert_non_null(strstr(e.text, "start parameters"));
}

static void impossible_lengths_and_bytes_are_refused(void **state)
{
    static const unsigned lengths[] = {0, 1, LINK_KEY + 15, LINK_KEY + 16 + PREAMBLE_ADDRESSES,
                                       65535};
    uint8_t bytes[PREAMBLE_MAX] = {0};
    struct preamble got;
    struct error e;
    char rest[64];
    size_t n = packed(bytes);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        bytes[16] = (uint8_t)lengths[i];
        bytes[17] = (uint8_t)(lengths[i] >> 8);
        assert_int_equal(read_from(bytes, sizeof(bytes), &got, rest, &e), -1);
        assert_non_null(strstr(e.text, "length"));
    }
    packed(bytes);
    bytes[n - 3] = 0;
    assert_int_equal(read_from(bytes, n, &got, rest, &e), -1);
    assert_non_null(strstr(e.text, "NUL"));
}

static void addresses_that_do_not_fit_are_refused(void **state)
{
    struct preamble p = sample;
    uint8_t bytes[PREAMBLE_MAX];
    struct error e;
    memset(p.addresses, 'a', sizeof(p.addresses));
    assert_int_equal(preamble_pack(&p, bytes, &e), -1);
    p.addresses[PREAMBLE_ADDRESSES - 1] = 0;
    assert_in_range(preamble_pack(&p, bytes, &e), 1, PREAMBLE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_packed_comes_back),
        cmocka_unit_test(every_part_of_it_is_too_little),
        cmocka_unit_test(nothing_behind_it_is_taken),
        cmocka_unit_test(noise_before_it_is_skipped),
        cmocka_unit_test(noise_without_end_is_refused),
        cmocka_unit_test(an_early_end_is_explained),
        cmocka_unit_test(impossible_lengths_and_bytes_are_refused),
        cmocka_unit_test(addresses_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
