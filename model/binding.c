/* SPDX-License-Identifier: BSD-3-Clause */
/* binding.c - the words for parts of a machine */
#include "model/binding.h"

const char *level_text(enum level l)
{
    static const char *const texts[LEVEL_COUNT] = {
        "slot",     "hardware thread", "core",    "L1 cache", "L2 cache",
        "L3 cache", "NUMA node",       "package", "board",
    };
    return texts[l];
}
