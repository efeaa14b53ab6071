/* SPDX-License-Identifier: BSD-3-Clause */
/* values.h - parts that several messages have: ranks' names, usage, limits, times, texts
 *
 * X_pack() fills a message that may point into its arguments: they have to live until it is sent.
 * X_unpack() accepts every message; numbers out of range become the nearest that is in it. */
#pragma once

#include "common/tty.h"
#include "model/limits.h"
#include "model/rank-name.h"
#include "model/usage.h"
#include "wire/mprun.pb-c.h"

struct packed_usage {
    Mprun__Usage message; /* points into values */
    uint64_t values[USAGE_FIELD_COUNT];
};
void usage_pack(const struct usage *u, struct packed_usage *ret);
void usage_unpack(const Mprun__Usage *m, struct usage *ret); /* m NULL: nothing known */

struct packed_limits {
    Mprun__Limits message; /* points into list, and that into each */
    Mprun__Limit each[LIMIT_KIND_COUNT], *list[LIMIT_KIND_COUNT];
};
void limits_pack(const struct limits *l, struct packed_limits *ret);
void limits_unpack(const Mprun__Limits *m, struct limits *ret); /* m NULL: none is set */

void window_pack(const struct tty_size *size, Mprun__Window *ret);
struct tty_size window_unpack(const Mprun__Window *m);

void rank_name_pack(struct rank_name r, Mprun__RankName *ret);
struct rank_name rank_name_unpack(const Mprun__RankName *m); /* NULL: rank 0 of world 0 */

/* Seconds that a timer can take: NaN and negative numbers become 0, the longest is some years. */
double seconds_unpack(double s);

/* A malloc'ed C string, "" for an absent field. NULL: a NUL inside. */
char *bytes_dup(const ProtobufCBinaryData *b);
/* The same of several, NULL-terminated; words_free() frees it. */
char **strings_unpack(const ProtobufCBinaryData *b, size_t n);
/* Points to text; NULL becomes "". */
ProtobufCBinaryData bytes_of(const char *text);
