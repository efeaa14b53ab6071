/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.c - the words for limits and for what holds them */
#include "model/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/number.h"

static const struct limit_words words[LIMIT_KIND_COUNT] = {
    [LIMIT_MEMORY] = {"memory", "mem", "memory_bytes", "memory", "--mem-per-rank", "--mem",
                      LIMIT_BYTES},
    [LIMIT_SWAP] = {"swap", NULL, "swap_bytes", "memory", NULL, NULL, LIMIT_BYTES},
    [LIMIT_PIDS] = {"processes", "procs", "processes", "pids", NULL, NULL, LIMIT_COUNT},
    [LIMIT_ADDRESS_SPACE] = {"address space", "vmem", "address_space_bytes", "", NULL, NULL,
                             LIMIT_BYTES},
    [LIMIT_CPU_TIME] = {"CPU time", "cput", "cpu_time_us", "", NULL, NULL, LIMIT_MICROSECONDS},
};
_Static_assert(sizeof(struct limits) == LIMIT_KIND_COUNT * sizeof(struct limit),
               "struct limits has a member for each kind");

const struct limit_words *limit_words(enum limit_kind k)
{
    return &words[k];
}

void limit_format(enum limit_kind k, uint64_t value, char *buf, size_t n)
{
    if (words[k].unit == LIMIT_BYTES)
        size_format(value, buf, n);
    else if (words[k].unit == LIMIT_MICROSECONDS)
        duration_format((double)value / 1e6, buf, n);
    else
        snprintf(buf, n, "%" PRIu64, value);
}

int limit_parse(enum limit_kind k, const char *value, struct limit *ret, struct error *err)
{
    int64_t count = 0;
    double seconds = 0;
    int rc;
    switch (words[k].unit) {
    case LIMIT_BYTES:
        rc = size_parse(value, words[k].name, &ret->value, err);
        break;
    case LIMIT_COUNT:
        rc = number_parse(value, words[k].name, 1, INT32_MAX, &count, err);
        ret->value = (uint64_t)count;
        break;
    default:
        rc = duration_parse(value, words[k].name, &seconds, err);
        if (rc == 0 && seconds < 1)
            rc = error_set(err, EINVAL, "%s: '%.60s' is less than a second", words[k].name, value);
        ret->value = (uint64_t)(seconds * 1e6);
    }
    ret->set = rc == 0;
    return rc;
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
