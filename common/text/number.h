/* SPDX-License-Identifier: BSD-3-Clause */
/* number.h - a strict parser each for counts, sizes and times, and their formats
 *
 * A parser takes the whole string or nothing; its sentence says what was read, what is wrong and
 * what the range is. `what` names the value ("--np", "slots") and may be NULL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

int number_parse(const char *text, const char *what, int64_t min, int64_t max, int64_t *ret,
                 struct error *err);
/* Bytes: "1048576", "200M", "3.8GiB", "1.5g"; K, M, G, T, P with optional iB or B, all powers of
 * 1024. Rounded up to a byte; 0 is an error. */
int size_parse(const char *text, const char *what, uint64_t *ret_bytes, struct error *err);
/* Seconds: "90", "1.5", "90s", "2m", "1h30m", "1:30:00", "5:00" (minutes:seconds). */
int duration_parse(const char *text, const char *what, double *ret_seconds, struct error *err);

/* Parse a number of a file of the kernel, up to a blank or the end of its line; "max" is ERANGE.
 * flat_key_u64: the number behind `key` in lines "key value" or "key: value"; ENOENT: no such
 * line. */
int u64_parse(const char *text, uint64_t *ret);
int flat_key_u64(const char *text, const char *key, uint64_t *ret);

/* FNV-1a, 64 bits, as http://www.isthe.com/chongo/tech/comp/fnv/ has it: for tables and names, not
 * against attackers. */
uint64_t hash_bytes(const void *p, size_t n);

/* "3.8 GiB", "512 B": at most 12 characters. Returns buf. */
const char *size_format(uint64_t bytes, char *buf, size_t n);
/* The ending of a noun after this count: "s", or "" after 1. */
static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}
/* "0.52 s", "0:01:23.4", "1:02:03" without a fraction. Returns buf. */
const char *duration_format(double seconds, char *buf, size_t n);
