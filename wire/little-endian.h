/* SPDX-License-Identifier: BSD-3-Clause */
/* little-endian.h - numbers in fixed headers: little endian on every machine */
#pragma once

#include <stdint.h>

static inline void put32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(v >> (8 * i));
}

static inline uint32_t get32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static inline void put64(uint8_t *to, uint64_t v)
{
    put32(to, (uint32_t)v);
    put32(to + 4, (uint32_t)(v >> 32));
}

static inline uint64_t get64(const uint8_t *from)
{
    return (uint64_t)get32(from) | (uint64_t)get32(from + 4) << 32;
}
