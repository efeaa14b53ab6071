/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/name-run.h"

#include <stdio.h>
#include <string.h>

enum { DIGITS_MAX = 9 };

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int name_run_at(const char *first, size_t n, uint32_t k, char *buf, size_t size)
{
    const char *dot = memchr(first, '.', n);
    size_t end = dot ? (size_t)(dot - first) : n;
    while (end > 0 && !is_digit(first[end - 1]))
        end--;
    size_t start = end;
    uint64_t number = 0, unit = 1;
    for (; start > 0 && is_digit(first[start - 1]) && end - start < DIGITS_MAX; unit *= 10)
        number += unit * (uint64_t)(first[--start] - '0');
    if (start == end)
        return -1;
    int len = snprintf(buf, size, "%.*s%0*llu%.*s", (int)start, first, (int)(end - start),
                       (unsigned long long)(number + k), (int)(n - end), first + end);
    return len > 0 && (size_t)len < size ? len : -1;
}
