/* SPDX-License-Identifier: BSD-3-Clause */
/* test-frame.c - the fixed headers: what is written is read again, and nothing else is taken */
#include "wire/messages/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "wire/flow-control.h"

static struct frame_header a_header(unsigned type, uint32_t length, unsigned flags)
{
    return (struct frame_header){.length = length, .type = (uint8_t)type, .flags = (uint8_t)flags};
}

static void every_type_and_length_comes_back(void **state)
{
    static const uint32_t lengths[] = {0, 1, 255, 65536, FRAME_PAYLOAD_MAX};
    uint8_t bytes[FRAME_HEADER];
    struct frame_header got;
    struct error e;
    for (unsigned type = FRAME_HELLO; type < FRAME_TYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            struct frame_header h = a_header(type, lengths[i], 0);
            frame_header_pack(&h, bytes);
            assert_int_equal(frame_header_unpack(bytes, &got, &e), 0);
            assert_int_equal(got.type, type);
            assert_int_equal(got.length, lengths[i]);
        }
}

static void the_layout_is_the_documented_one(void **state)
{
    static const uint8_t expected[FRAME_HEADER] = {4, 3, 2, 0, FRAME_LAUNCH, FRAME_MORE, 0, 0,
                                                   8, 7, 6, 5};
    uint8_t bytes[FRAME_HEADER];
    struct frame_header h = a_header(FRAME_LAUNCH, 0x00020304, FRAME_MORE);
    h.host = 0x05060708;
    frame_header_pack(&h, bytes);
    assert_memory_equal(bytes, expected, FRAME_HEADER);
}

static void refused(const uint8_t bytes[FRAME_HEADER], const char *word)
{
    struct frame_header got = {.type = 77};
    struct error e;
    assert_int_equal(frame_header_unpack(bytes, &got, &e), -1);
    assert_non_null(strstr(e.text, word));
    assert_int_equal(got.type, 77);
}

static void what_cannot_be_is_refused_by_name(void **state)
{
    uint8_t bytes[FRAME_HEADER] = {0};
    refused(bytes, "unknown type 0");
    bytes[4] = FRAME_TYPE_COUNT;
    refused(bytes, "unknown type");
    struct frame_header h = a_header(FRAME_KILL, FRAME_PAYLOAD_MAX + 1, 0);
    frame_header_pack(&h, bytes);
    refused(bytes, "KILL frame of");
    h = a_header(FRAME_KILL, 0xffffffff, 0);
    frame_header_pack(&h, bytes);
    refused(bytes, "4294967295");
    for (int bit = 1; bit < 8; bit++) {
        h = a_header(FRAME_KILL, 0, 1u << bit);
        frame_header_pack(&h, bytes);
        refused(bytes, "flags");
    }
    for (int at = 6; at < 8; at++) {
        h = a_header(FRAME_KILL, 0, 0);
        frame_header_pack(&h, bytes);
        bytes[at] = 1;
        refused(bytes, "flags");
    }
}

static void bulk_data_never_comes_in_parts(void **state)
{
    uint8_t bytes[FRAME_HEADER];
    struct frame_header h = a_header(FRAME_OUTPUT, 30, FRAME_MORE);
    frame_header_pack(&h, bytes);
    refused(bytes, "OUTPUT frame in parts");
    h = a_header(FRAME_INPUT, 30, FRAME_MORE);
    frame_header_pack(&h, bytes);
    refused(bytes, "INPUT frame in parts");
}

static void a_bulk_header_comes_back(void **state)
{
    struct bulk_header h = {{1, 0xfffffffe, 3}, 2, 0x0123456789abcdefu}, got;
    uint8_t bytes[BULK_HEADER];
    struct error e;
    bulk_header_pack(&h, bytes);
    assert_int_equal(bulk_header_unpack(bytes, sizeof(bytes), &got, &e), 0);
    assert_true(rank_name_equal(got.name, h.name));
    assert_int_equal(got.stream, 2);
    assert_true(got.time_ns == h.time_ns);
}

static void a_short_or_strange_bulk_header_is_refused(void **state)
{
    struct bulk_header h = {{0, 0, 0}, 1, 0}, got;
    uint8_t bytes[BULK_HEADER];
    struct error e;
    bulk_header_pack(&h, bytes);
    for (size_t n = 0; n < BULK_HEADER; n++)
        assert_int_equal(bulk_header_unpack(bytes, n, &got, &e), -1);
    bytes[12] = 3;
    assert_int_equal(bulk_header_unpack(bytes, sizeof(bytes), &got, &e), -1);
    assert_non_null(strstr(e.text, "stream 3"));
    for (int at = 13; at < 16; at++) {
        bulk_header_pack(&h, bytes);
        bytes[at] = 1;
        assert_int_equal(bulk_header_unpack(bytes, sizeof(bytes), &got, &e), -1);
    }
}

static void every_type_has_a_name(void **state)
{
    for (unsigned i = 0; i < FRAME_TYPE_COUNT; i++) {
        assert_non_null(frame_type_text(i));
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(frame_type_text(i), frame_type_text(k));
    }
    assert_string_equal(frame_type_text(FRAME_TYPE_COUNT), "unknown");
}

static void the_windows_of_all_hosts_are_bounded(void **state)
{
    assert_int_equal(output_window(0), OUTPUT_WINDOW);
    assert_int_equal(output_window(1), OUTPUT_WINDOW);
    assert_int_equal(output_window(1000000), OUTPUT_WINDOW_MIN);
    for (size_t hosts = 1; hosts <= 1024; hosts *= 2)
        assert_true(2 * hosts * output_window(hosts) <= OUTPUT_TOTAL);
    assert_int_equal(output_cost(0), 0);
    assert_int_equal(output_cost(1), 1 + FRAME_HEADER + BULK_HEADER);
}

static void a_preload_header_comes_back_and_a_strange_one_is_refused(void **state)
{
    uint8_t bytes[PRELOAD_HEADER];
    struct preload_header h = {.content = 0x01020304, .offset = 0x1122334455667788}, got;
    struct error e;
    preload_header_pack(&h, bytes);
    assert_int_equal(bytes[0], 4);
    assert_int_equal(bytes[8], 0x88);
    assert_int_equal(preload_header_unpack(bytes, PRELOAD_HEADER + 1, &got, &e), 0);
    assert_int_equal(got.content, h.content);
    assert_true(got.offset == h.offset);
    assert_int_equal(preload_header_unpack(bytes, PRELOAD_HEADER + PRELOAD_DATA_MAX, &got, &e), 0);
    assert_int_equal(preload_header_unpack(bytes, PRELOAD_HEADER, &got, &e), -1); /* no data */
    assert_int_equal(preload_header_unpack(bytes, PRELOAD_HEADER + PRELOAD_DATA_MAX + 1, &got, &e),
                     -1);
    bytes[5] = 1;
    assert_int_equal(preload_header_unpack(bytes, PRELOAD_HEADER + 1, &got, &e), -1);
    assert_true(PRELOAD_HEADER + PRELOAD_DATA_MAX <= FRAME_PAYLOAD_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_length_comes_back),
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
        cmocka_unit_test(bulk_data_never_comes_in_parts),
        cmocka_unit_test(a_bulk_header_comes_back),
        cmocka_unit_test(a_short_or_strange_bulk_header_is_refused),
        cmocka_unit_test(a_preload_header_comes_back_and_a_strange_one_is_refused),
        cmocka_unit_test(every_type_has_a_name),
        cmocka_unit_test(the_windows_of_all_hosts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
