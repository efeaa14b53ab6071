/* SPDX-License-Identifier: BSD-3-Clause */
/* buffer.h - a growing queue of bytes: append at the end, consume from the front */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buffer {
    uint8_t *data; /* allocation; NULL while nothing was ever put in */
    size_t start;  /* index of the first byte that is not consumed */
    size_t end;    /* one past the last byte */
    size_t cap;    /* bytes allocated */
};

static inline size_t buffer_len(const struct buffer *b)
{
    return b->end - b->start;
}
static inline uint8_t *buffer_ptr(const struct buffer *b)
{
    return b->data ? b->data + b->start : NULL;
}

void buffer_free(struct buffer *b); /* leaves an empty, usable buffer */
/* Make room for at least n more bytes at the end, and return where it begins; consumed space is
 * reused. Ends the program when there is no memory (must.h). buffer_commit() then says how many
 * bytes were put there. */
uint8_t *buffer_reserve(struct buffer *b, size_t n);
static inline void buffer_commit(struct buffer *b, size_t n)
{
    b->end += n;
}
void buffer_append(struct buffer *b, const void *p, size_t n);
/* Drop n bytes from the front. A large buffer that becomes empty frees its memory. */
void buffer_consume(struct buffer *b, size_t n);

/* Read once, at most max bytes, into the end: bytes read, 0 at end of file, -1 with errno. */
ssize_t buffer_read(struct buffer *b, int fd, size_t max);
/* Write once what is there, and consume what was written: bytes written, or -1 with errno. */
ssize_t buffer_write(struct buffer *b, int fd);
