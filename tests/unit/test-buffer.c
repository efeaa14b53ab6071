/* SPDX-License-Identifier: BSD-3-Clause */
/* test-buffer.c - a queue of bytes keeps their order however it is filled and emptied */
#include "common/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void bytes_keep_their_order(void **state)
{
    struct buffer b = {0};
    unsigned in = 0, out = 0;
    srand(1);
    for (int round = 0; round < 20000; round++) {
        uint8_t some[300];
        size_t n = (size_t)rand() % sizeof(some);
        for (size_t i = 0; i < n; i++)
            some[i] = (uint8_t)in++;
        buffer_append(&b, some, n);
        size_t take = (size_t)rand() % (buffer_len(&b) + 1);
        for (size_t i = 0; i < take; i++)
            assert_int_equal(buffer_ptr(&b)[i], (uint8_t)out++);
        buffer_consume(&b, take);
        assert_int_equal(buffer_len(&b), in - out);
    }
    buffer_free(&b);
    assert_int_equal(buffer_len(&b), 0);
    buffer_append(&b, "x", 1); /* still usable */
    buffer_free(&b);
}

static void consumed_space_is_used_again(void **state)
{
    struct buffer b = {0};
    uint8_t some[1000] = {0};
    for (int i = 0; i < 10000; i++) {
        buffer_append(&b, some, sizeof(some));
        if (i > 0)
            buffer_consume(&b, sizeof(some));
    }
    assert_true(b.cap <= 8192);
    buffer_free(&b);
}

static void a_large_buffer_that_is_empty_holds_no_memory(void **state)
{
    struct buffer b = {0};
    size_t n = 4 * 1024 * 1024;
    assert_non_null(buffer_reserve(&b, n));
    buffer_commit(&b, n);
    buffer_consume(&b, n - 1);
    assert_non_null(b.data);
    buffer_consume(&b, 1);
    assert_null(b.data);
    assert_int_equal(b.cap, 0);
}

static void reading_and_writing_go_through_descriptors(void **state)
{
    struct buffer b = {0};
    int p[2];
    assert_int_equal(pipe2(p, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(buffer_read(&b, p[0], 100), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(write(p[1], "hello world", 11), 11);
    assert_int_equal(buffer_read(&b, p[0], 5), 5);
    assert_int_equal(buffer_read(&b, p[0], 100), 6);
    assert_memory_equal(buffer_ptr(&b), "hello world", 11);
    assert_int_equal(buffer_write(&b, p[1]), 11);
    assert_int_equal(buffer_len(&b), 0);
    close(p[1]);
    assert_int_equal(buffer_read(&b, p[0], 100), 11);
    assert_int_equal(buffer_read(&b, p[0], 100), 0); /* the end */
    close(p[0]);
    buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_keep_their_order),
        cmocka_unit_test(consumed_space_is_used_again),
        cmocka_unit_test(a_large_buffer_that_is_empty_holds_no_memory),
        cmocka_unit_test(reading_and_writing_go_through_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
