/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.c - the words for limits and for what holds them */
#include "model/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/text/number.h"

enum { C = 1 << HELD_BY_CGROUP, R = 1 << HELD_BY_RLIMIT, S = 1 << HELD_BY_SAMPLED };

/* Pages of files count for cgroups alone: samples leave them out, because the kernel takes them
 * back before it kills. An rlimit is for each process, so it is no limit of hosts and steps; what
 * cannot be added up over processes is one of ranks alone. */
static const struct limit_words words[LIMIT_KIND_COUNT] = {
    [LIMIT_MEMORY] = {.name = "memory",
                      .word = "mem",
                      .key = "memory_bytes",
                      .controller = "memory",
                      .resource = -1,
                      .holders = {S, C | S, C | S}},
    [LIMIT_MEMORY_SWAP] = {.name = "memory and swap",
                           .word = "memsw",
                           .key = "memory_swap_bytes",
                           .controller = "memory",
                           .resource = -1,
                           .holders = {S, C | S, C | S}},
    [LIMIT_SWAP] = {.name = "swap",
                    .key = "swap_bytes",
                    .controller = "memory",
                    .resource = -1,
                    .holders = {0, C, C}},
    [LIMIT_PIDS] = {.name = "processes",
                    .word = "procs",
                    .key = "processes",
                    .unit = LIMIT_COUNT,
                    .controller = "pids",
                    .resource = -1,
                    .holders = {S, C | S, C | S}},
    [LIMIT_ADDRESS_SPACE] = {.name = "address space",
                             .word = "vmem",
                             .key = "address_space_bytes",
                             .controller = "",
                             .resource = RLIMIT_AS,
                             .holders = {S, S, R | S}},
    [LIMIT_CPU_TIME] = {.name = "CPU time",
                        .word = "cput",
                        .key = "cpu_time_us",
                        .unit = LIMIT_MICROSECONDS,
                        .controller = "",
                        .resource = RLIMIT_CPU,
                        .signal = SIGXCPU,
                        .holders = {S, S, R | S}},
    [LIMIT_WALL_TIME] = {.name = "wall time",
                         .word = "wall",
                         .key = "wall_time_us",
                         .unit = LIMIT_MICROSECONDS,
                         .is_longest = true,
                         .controller = "",
                         .resource = -1,
                         .holders = {S, S, S}},
    [LIMIT_FILES] = {.name = "open files",
                     .word = "files",
                     .key = "open_files",
                     .unit = LIMIT_COUNT,
                     .controller = "",
                     .resource = RLIMIT_NOFILE,
                     .holders = {0, 0, R}},
    [LIMIT_CORE_SIZE] = {.name = "core size",
                         .word = "core",
                         .key = "core_bytes",
                         .may_be_zero = true,
                         .controller = "",
                         .resource = RLIMIT_CORE,
                         .holders = {0, 0, R}},
    [LIMIT_FILE_SIZE] = {.name = "file size",
                         .word = "file",
                         .key = "file_bytes",
                         .may_be_zero = true,
                         .controller = "",
                         .resource = RLIMIT_FSIZE,
                         .signal = SIGXFSZ,
                         .holders = {0, 0, R}},
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
    if (words[k].may_be_zero && strcmp(value, "0") == 0) {
        *ret = (struct limit){.set = 1};
        return 0;
    }
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

/* The strongest but cgroups that can hold it. */
static enum limit_holder best_holder(enum limit_kind k, enum limit_level level)
{
    unsigned can = words[k].holders[level];
    return can & R ? HELD_BY_RLIMIT : can & S ? HELD_BY_SAMPLED : HELD_BY_NONE;
}

void limits_hold_without_cgroup(struct limits *l, enum limit_level level)
{
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        if (l->of[k].set && l->of[k].held_by == HELD_BY_NONE)
            l->of[k].held_by = best_holder((enum limit_kind)k, level);
}

bool limit_is_sampled(const struct limits *l, enum limit_kind k, enum limit_level level)
{
    return l->of[k].set && l->of[k].held_by != HELD_BY_CGROUP && (words[k].holders[level] & S);
}

const char *limit_level_text(enum limit_level level)
{
    static const char *const texts[LIMIT_LEVEL_COUNT] = {"step", "host", "rank"};
    return texts[level];
}

const char *limit_holder_text(enum limit_holder h)
{
    static const char *const texts[] = {"none", "sampled", "rlimit", "cgroup"};
    return (size_t)h < sizeof(texts) / sizeof(texts[0]) ? texts[h]
                                                        : "unknown"; /* of a later peer */
}
