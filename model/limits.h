/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.h - what a host or a rank may use, and what holds it to that */
#ifndef MODEL_LIMITS_H
#define MODEL_LIMITS_H

#include <stdint.h>

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

struct limits {
    struct limit memory; /* bytes of memory, swap not counted */
    struct limit swap;   /* bytes of swap; set together with memory to 0 */
    struct limit pids;   /* processes and threads */
};

#endif
