/* SPDX-License-Identifier: BSD-3-Clause */
/* output-pattern.h - texts that name the rank that has written something
 *
 *     %r %t  rank             %R  rank, with as many digits as the highest has
 *     %h %N  host             %n  its number in the step
 *     %j %J  job, or step     %s  "stdout" or "stderr"      %u  user     %%  '%'
 *
 * A number between '%' and r, t or n is a width, filled with zeros. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct bulk_header;

struct output_names {
    const char *job;
    const char *const *hosts; /* by index */
    uint32_t nranks;
};

/* 0, or -1 with the letter that means nothing. */
int output_pattern_check(const char *pattern, struct error *err);
/* The text for a rank on a host in buf. 0, or -1: it does not fit. */
int output_pattern_expand(const struct output_names *names, const char *pattern, uint32_t host,
                          const struct bulk_header *h, char *buf, size_t size);
