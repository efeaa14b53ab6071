/* SPDX-License-Identifier: BSD-3-Clause */
/* content.h - a file's content, known by its hash: the same wherever it lies */
#ifndef WIRE_CONTENT_H
#define WIRE_CONTENT_H

#include <stdint.h>

#include "common/error.h"

enum { CONTENT_HASH = 32 };

struct content {
    uint8_t hash[CONTENT_HASH]; /* BLAKE2b */
    uint64_t size;
    int executable;
};

/* Hash what an open file has, from its beginning, into ret->hash and ret->size. -1 with errno. */
int content_read(int fd, struct content *ret);

#endif
