/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/pbs/dis.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS_MAX = 20, COUNTS_MAX = 4 };

static void put_count(struct buffer *to, size_t n)
{
    char text[DIGITS_MAX + 1];
    if (n <= 1)
        return;
    int length = snprintf(text, sizeof(text), "%zu", n);
    put_count(to, (size_t)length);
    buffer_append(to, text, (size_t)length);
}

void dis_put_number(struct buffer *to, int64_t value)
{
    char text[DIGITS_MAX + 2];
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    int n = snprintf(text, sizeof(text), "%c%" PRIu64, value < 0 ? '-' : '+', magnitude);
    put_count(to, (size_t)n - 1);
    buffer_append(to, text, (size_t)n);
}

void dis_put_bytes(struct buffer *to, const void *p, size_t n)
{
    dis_put_number(to, (int64_t)n);
    buffer_append(to, p, n);
}

void dis_put_string(struct buffer *to, const char *text)
{
    dis_put_bytes(to, text, strlen(text));
}

/* `count` digits, of which the first may be 0 only where it is alone. */
static int get_digits(const uint8_t *p, size_t count, uint64_t *ret)
{
    uint64_t value = 0;
    if (count > 1 && p[0] == '0')
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (p[i] < '0' || p[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(p[i] - '0'), &value))
            return -1;
    }
    *ret = value;
    return 0;
}

ssize_t dis_get_number(const uint8_t *p, size_t n, int64_t *ret)
{
    uint64_t count = 1, value;
    size_t at = 0;
    for (int counts = 0; at < n; counts++) {
        bool is_last = p[at] == '+' || p[at] == '-';
        size_t digits = at + is_last;
        if (counts > COUNTS_MAX || count > DIGITS_MAX || (!is_last && p[at] == '0'))
            return -1;
        if (n - digits < count)
            return 0;
        if (get_digits(p + digits, count, &value) < 0)
            return -1;
        if (is_last) {
            if (value > INT64_MAX)
                return -1;
            *ret = p[at] == '-' ? -(int64_t)value : (int64_t)value;
            return (ssize_t)(digits + count);
        }
        at += count;
        count = value;
    }
    return 0;
}

ssize_t dis_get_bytes(const uint8_t *p, size_t n, size_t max, const uint8_t **ret, size_t *ret_n)
{
    int64_t length;
    ssize_t used = dis_get_number(p, n, &length);
    if (used <= 0)
        return used;
    if (length < 0 || (uint64_t)length > max)
        return -1;
    if (n - (size_t)used < (size_t)length)
        return 0;
    *ret = p + used;
    *ret_n = (size_t)length;
    return used + (ssize_t)length;
}
