/* SPDX-License-Identifier: BSD-3-Clause */
/* complex-value.h - values of Grid Engine's complexes, exact to a millionth
 *
 * "2G", "1.5M", "512k", "0x10", "1:30:00", "INFINITY", "TRUE", "536870912.000000". Upper-case
 * suffixes are powers of 1024, lower-case ones of 1000, as complex(5) has them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gridengine_value {
    bool set;      /* else nothing below means anything */
    bool infinite; /* no limit: whole and millionths mean nothing */
    uint64_t whole;
    uint32_t millionths;
};

/* Read a value, which has to be the whole text. 0, or -1: it is none. */
int gridengine_value_parse(const char *text, struct gridengine_value *ret);
/* Multiply the value by n and round up to a whole number. 0 with *ret, or -1: it is not set,
 * infinite or too large. */
int gridengine_value_times(const struct gridengine_value *v, uint64_t n, uint64_t *ret);
