/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/must.h"

enum { KEEP = 512 * 1024, FIRST = 256 };

void buffer_free(struct buffer *b)
{
    free(b->data);
    memset(b, 0, sizeof(*b));
}

uint8_t *buffer_reserve(struct buffer *b, size_t n)
{
    if (b->cap - b->end >= n && b->data)
        return b->data + b->end;
    size_t len = buffer_len(b);
    /* moving is cheap when at least half of the space before the data is free */
    if (b->data && b->start >= len && b->cap - len >= n) {
        memcpy(b->data, b->data + b->start, len);
        b->start = 0;
        b->end = len;
        return b->data + b->end;
    }
    size_t cap = b->cap ? b->cap : FIRST;
    if (n > SIZE_MAX / 4 - len) /* doubling would never get there */
        out_of_memory();
    while (cap < len + n)
        cap *= 2;
    uint8_t *data = must(malloc(cap));
    if (len)
        memcpy(data, b->data + b->start, len);
    free(b->data);
    b->data = data;
    b->start = 0;
    b->end = len;
    b->cap = cap;
    return data + len;
}

void buffer_append(struct buffer *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    memcpy(buffer_reserve(b, n), p, n);
    b->end += n;
}

void buffer_consume(struct buffer *b, size_t n)
{
    b->start += n;
    if (b->start < b->end)
        return;
    b->start = b->end = 0;
    if (b->cap > KEEP)
        buffer_free(b);
}

ssize_t buffer_read(struct buffer *b, int fd, size_t max)
{
    ssize_t n = read(fd, buffer_reserve(b, max), max);
    if (n > 0)
        b->end += (size_t)n;
    return n;
}

ssize_t buffer_write(struct buffer *b, int fd)
{
    ssize_t n = write(fd, buffer_ptr(b), buffer_len(b));
    if (n > 0)
        buffer_consume(b, (size_t)n);
    return n;
}
