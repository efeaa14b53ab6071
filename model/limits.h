/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.h - limits of a rank, of a host's ranks or of a step, and the mechanisms that hold them
 *
 * A new kind of limit is a member of enum limit_kind and of struct limits, a line of the table in
 * limits.c, and what holds it: each version of cgroups; setrlimit(), for which the table is enough;
 * samples, for which the starter's ranks/rank-amounts.c adds it up. Options, messages, checks and
 * reports go through the kinds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum limit_holder {
    HELD_BY_NONE,
    HELD_BY_SAMPLED, /* the starter looks now and then, and tells mprun */
    HELD_BY_RLIMIT,  /* each process, by the kernel; where samples see it, all of a rank's
                        processes together by these */
    HELD_BY_CGROUP,  /* all processes together, by the kernel */
};
const char *limit_holder_text(enum limit_holder h); /* "cgroup", ... */

struct limit {
    int set; /* 0: no limit was asked for; value and holder mean nothing */
    uint64_t value;
    enum limit_holder held_by;
};

/* The numbers go over the wire. */
enum limit_kind {
    LIMIT_MEMORY,
    LIMIT_SWAP,
    LIMIT_PIDS,
    LIMIT_ADDRESS_SPACE,
    LIMIT_CPU_TIME,
    LIMIT_MEMORY_SWAP,
    LIMIT_WALL_TIME,
    LIMIT_FILES,
    LIMIT_CORE_SIZE,
    LIMIT_FILE_SIZE,
    LIMIT_KIND_COUNT
};

enum limit_level { LIMIT_OF_STEP, LIMIT_OF_HOST, LIMIT_OF_RANK, LIMIT_LEVEL_COUNT };

struct limits {
    union {
        struct {
            struct limit memory;        /* bytes of memory, swap not counted */
            struct limit swap;          /* bytes of swap; mprund's, beside memory */
            struct limit pids;          /* processes and threads */
            struct limit address_space; /* bytes */
            struct limit cpu_time;      /* microseconds */
            struct limit memory_swap;   /* bytes of memory and swap together */
            struct limit wall_time;     /* microseconds since a rank's start */
            struct limit files;         /* open in a process */
            struct limit core_size;     /* bytes */
            struct limit file_size;     /* bytes */
        };
        struct limit of[LIMIT_KIND_COUNT];
    };
};

enum limit_unit { LIMIT_BYTES, LIMIT_COUNT, LIMIT_MICROSECONDS };

struct limit_words {
    const char *name;       /* for people: "memory", "processes" */
    const char *word;       /* in --limit: "mem"; NULL: users have no such limit */
    const char *key;        /* in the JSON report: "memory_bytes" */
    const char *controller; /* of cgroups, that holds it: "memory", "pids"; "": none */
    int resource;           /* of setrlimit(), that holds it; -1: none */
    int signal;             /* by which the kernel ends a process for it; 0: by none */
    enum limit_unit unit;   /* of the value */
    bool is_longest;        /* ranks do not add up: the largest amount counts */
    bool may_be_zero;       /* a limit of 0 makes sense */
    /* What can hold it at each level: bits 1 << HELD_BY_...; 0: it is no limit of that level. */
    unsigned holders[LIMIT_LEVEL_COUNT];
};
const struct limit_words *limit_words(enum limit_kind k);
void limit_format(enum limit_kind k, uint64_t value, char *buf, size_t n); /* "1.5G", "100" */
/* Reads a value in the kind's unit: a size, a number, a time. It becomes set. -1 with err. */
int limit_parse(enum limit_kind k, const char *value, struct limit *ret, struct error *err);

const char *limit_level_text(enum limit_level level); /* "step", "host", "rank" */

bool limits_is_any_set(const struct limits *l);
void limits_forget_holders(struct limits *l); /* held_by of all becomes HELD_BY_NONE */
/* Gives each limit that is set and that no cgroup holds the next best holder (held_by). */
void limits_hold_without_cgroup(struct limits *l, enum limit_level level);
/* Is the limit (also) held by samples? */
bool limit_is_sampled(const struct limits *l, enum limit_kind k, enum limit_level level);
