/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.c - the words for limits and for what holds them */
#include "model/limits.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/number.h"

static const struct limit_words words[LIMIT_KIND_COUNT] = {
    [LIMIT_MEMORY] = {"memory", "memory_bytes", "memory", "--mem-per-rank", "--mem", true},
    [LIMIT_SWAP] = {"swap", "swap_bytes", "memory", NULL, NULL, true},
    [LIMIT_PIDS] = {"processes", "processes", "pids", NULL, NULL, false},
};
_Static_assert(sizeof(struct limits) == LIMIT_KIND_COUNT * sizeof(struct limit),
               "struct limits has a member for each kind");

const struct limit_words *limit_words(enum limit_kind k)
{
    return &words[k];
}

void limit_format(enum limit_kind k, uint64_t value, char *buf, size_t n)
{
    if (words[k].is_bytes)
        size_format(value, buf, n);
    else
        snprintf(buf, n, "%" PRIu64, value);
}

bool limits_is_any_set(const struct limits *l)
{
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        if (l->of[k].set)
            return true;
    return false;
}

void limits_forget_holders(struct limits *l)
{
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        l->of[k].held_by = HELD_BY_NONE;
}

const char *limit_holder_text(enum limit_holder h)
{
    static const char *const texts[] = {"none", "sampled", "rlimit", "cgroup"};
    return (size_t)h < sizeof(texts) / sizeof(texts[0]) ? texts[h]
                                                        : "unknown"; /* of a later peer */
}
