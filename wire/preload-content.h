/* SPDX-License-Identifier: BSD-3-Clause */
/* preload-content.h - identifies a file's content by its hash */
#pragma once

#include <stdint.h>

enum { CONTENT_HASH = 32 };

struct content {
    uint8_t hash[CONTENT_HASH]; /* BLAKE2b */
    uint64_t size;
    int executable;
};

/* Hashes an open file from its beginning into ret->hash and ret->size. -1 with errno. */
int content_read(int fd, struct content *ret);
