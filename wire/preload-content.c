/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/preload-content.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "wire/tunables.h"

int content_read(int fd, struct content *ret)
{
    crypto_generichash_state hash;
    AUTO_FREE uint8_t *data = malloc(PRELOAD_READ);
    uint64_t at = 0;
    if (!data)
        return -1;
    crypto_generichash_init(&hash, NULL, 0, CONTENT_HASH);
    for (;;) {
        ssize_t n = pread(fd, data, PRELOAD_READ, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        crypto_generichash_update(&hash, data, (size_t)n);
        at += (uint64_t)n;
    }
    crypto_generichash_final(&hash, ret->hash, CONTENT_HASH);
    ret->size = at;
    return 0;
}
