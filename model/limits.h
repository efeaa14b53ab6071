/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.h - what a host or a rank may use, and what holds it to that
 *
 * A new kind of limit is a member of enum limit_kind and of struct limits, a line of the table in
 * limits.c, an option, and what holds it: each version of cgroups, or setrlimit() in the starter's
 * ranks/rank-exec.c (its controller is "" then). Messages, checks and reports go through the kinds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum limit_holder {
    HELD_BY_NONE,
    HELD_BY_SAMPLED, /* the starter looks now and then, and kills */
    HELD_BY_RLIMIT,  /* per process, by the kernel */
    HELD_BY_CGROUP,  /* for all processes together, by the kernel */
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
    LIMIT_KIND_COUNT
};

struct limits {
    union {
        struct {
            struct limit memory;        /* bytes of memory, swap not counted */
            struct limit swap;          /* bytes of swap; mprund's, beside memory */
            struct limit pids;          /* processes and threads */
            struct limit address_space; /* bytes */
            struct limit cpu_time;      /* microseconds */
        };
        struct limit of[LIMIT_KIND_COUNT];
    };
};

enum limit_unit { LIMIT_BYTES, LIMIT_COUNT, LIMIT_MICROSECONDS };

struct limit_words {
    const char *name;        /* for people: "memory", "processes" */
    const char *step_word;   /* in --limit: "mem"; NULL: no limit of a whole step */
    const char *key;         /* in the JSON report: "memory_bytes" */
    const char *controller;  /* of cgroups, that holds it: "memory", "pids" */
    const char *rank_option; /* sets it for each rank: "--mem-per-rank"; NULL: none */
    const char *host_option; /* sets it for each host: "--mem"; NULL: none */
    enum limit_unit unit;    /* of the value */
};
const struct limit_words *limit_words(enum limit_kind k);
void limit_format(enum limit_kind k, uint64_t value, char *buf, size_t n); /* "1.5G", "100" */
/* Reads a value in the kind's unit: a size, a number, a time. It becomes set. -1 with err. */
int limit_parse(enum limit_kind k, const char *value, struct limit *ret, struct error *err);

bool limits_is_any_set(const struct limits *l);
void limits_forget_holders(struct limits *l); /* held_by of all becomes HELD_BY_NONE */
