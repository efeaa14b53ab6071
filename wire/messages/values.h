/* SPDX-License-Identifier: BSD-3-Clause */
/* values.h - parts that several messages have: ranks' names, usage, limits, times, texts
 *
 * X_pack() fills a message that may point into its arguments: keep them until it is sent.
 * X_unpack() accepts every message; it moves a number out of range to the nearest one in range. */
#pragma once

#include "common/files/tty.h"
#include "model/limits.h"
#include "model/rank-name.h"
#include "model/usage.h"
#include "wire/mprun.pb-c.h"

struct packed_usage {
    Mprun__Usage message; /* points into `values` */
    uint64_t values[USAGE_FIELD_COUNT];
};
void usage_pack(const struct usage *u, struct packed_usage *ret);
void usage_unpack(const Mprun__Usage *m, struct usage *ret); /* m NULL: nothing is known */

struct packed_limits {
    Mprun__Limits message; /* points into `list`, which points into `each` */
    Mprun__Limit each[LIMIT_KIND_COUNT], *list[LIMIT_KIND_COUNT];
};
void limits_pack(const struct limits *l, struct packed_limits *ret);
void limits_unpack(const Mprun__Limits *m, struct limits *ret); /* m NULL: no limit is set */

void window_pack(const struct tty_size *size, Mprun__Window *ret);
struct tty_size window_unpack(const Mprun__Window *m);

void rank_name_pack(struct rank_name r, Mprun__RankName *ret);
struct rank_name rank_name_unpack(const Mprun__RankName *m); /* NULL: rank 0 of world 0 */

/* Returns seconds that a timer can take: 0 for NaN and negative numbers, some years at most. */
double seconds_unpack(double s);

/* Returns a malloc'ed C string, "" for an absent field. NULL: there is a NUL inside. */
char *bytes_dup(const ProtobufCBinaryData *b);
/* Does the same for several; returns a NULL-terminated list, which words_free() frees. */
char **strings_unpack(const ProtobufCBinaryData *b, size_t n);
/* Returns bytes that point to text; NULL becomes "". */
ProtobufCBinaryData bytes_of(const char *text);
