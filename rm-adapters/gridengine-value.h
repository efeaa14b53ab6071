/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine-value.h - values of Grid Engine's complexes, exact to a millionth
 *
 * "2G", "1.5M", "512k", "0x10", "1:30:00", "INFINITY", "TRUE", "536870912.000000". Upper-case
 * suffixes are powers of 1024, lower-case ones of 1000, as complex(5) has them. */
#ifndef RM_ADAPTERS_GRIDENGINE_VALUE_H
#define RM_ADAPTERS_GRIDENGINE_VALUE_H

#include <stdint.h>

struct gridengine_value {
    int set;
    int infinite; /* no limit: whole and millionths mean nothing */
    uint64_t whole;
    uint32_t millionths;
};

/* 0, or -1 where text is no value. Text behind a value is none either. */
int gridengine_value_parse(const char *text, struct gridengine_value *ret);
/* The value n times, rounded up to a whole number. 0, or -1: not set, infinite or too large. */
int gridengine_value_times(const struct gridengine_value *v, uint64_t n, uint64_t *ret);

#endif
