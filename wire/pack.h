/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.h - the model's nouns as messages and back, once for launcher, starter, mppmi and tools
 *
 * Unpacking checks everything that a receiver relies on; the error says what does not hold. */
#ifndef WIRE_PACK_H
#define WIRE_PACK_H

#include "common/error.h"
#include "common/idset.h"
#include "model/step.h"
#include "model/usage.h"
#include "wire/link.h"
#include "wire/mprun.pb-c.h"

/* What every host is told to run. The same bytes go to all; each finds its own place in them. */
struct launch {
    struct step step;
    uint32_t world;
    struct placement *hosts; /* all hosts of the world */
    size_t nhosts;
    uint32_t host_index; /* this one: the receiver's */
    int granted_all;     /* the receiver's: all threads it is allowed; else `granted` */
    struct idset granted;
    char *granted_cores; /* of these: see struct placement; NULL: not stated */
    int report_bindings;
    int same_machine;
};
enum { LAUNCH_RANKS_MAX = IDSET_MAX }; /* of a world */
void launch_free(struct launch *l);
/* What was granted is taken from the placements. Does not keep or change l. The packed message is
 * the caller's to free; NULL: no memory. */
uint8_t *launch_pack(const struct launch *l, size_t *ret_n);
int launch_unpack(const uint8_t *p, size_t n, uint32_t host_index, struct launch *ret,
                  struct error *err);

struct packed_usage {
    Mprun__Usage message; /* points into values */
    uint64_t values[USAGE_FIELD_COUNT];
};
void usage_pack(const struct usage *u, struct packed_usage *ret);
void usage_unpack(const Mprun__Usage *m, struct usage *ret); /* m NULL: nothing known */

struct packed_limits {
    Mprun__Limits message;
    Mprun__Limit memory, swap, pids;
};
void limits_pack(const struct limits *l, struct packed_limits *ret);
void limits_unpack(const Mprun__Limits *m, struct limits *ret);

/* ErrandNews.what */
enum errand_news {
    ERRAND_REFUSED = 1, /* it was not started, and nothing more will be told */
    ERRAND_STARTED,
    ERRAND_SAID,
    ERRAND_ENDED,   /* nothing more will be told */
    /* of another mprun only: */
    ERRAND_NEVER,    /* as REFUSED, and so is whatever else the asker asks; the user can mend that */
    ERRAND_WILLING,  /* HAND without input would have been done with it */
    ERRAND_STRANGER, /* as NEVER, but nothing is to be mended: it is in another job */
};

void window_pack(const struct tty_size *size, Mprun__Window *ret);
struct tty_size window_unpack(const Mprun__Window *m);

void rank_name_pack(struct rank_name r, Mprun__RankName *ret);
struct rank_name rank_name_unpack(const Mprun__RankName *m); /* NULL: rank 0 of world 0 */

/* A time of a message as one that a timer can take: no NaN, nothing negative, at most some years.
 */
double seconds_unpack(double s);

/* "" for a string or bytes field that is absent; bytes as a malloc'ed C string (NULL: NUL inside,
 * or no memory). */
char *bytes_dup(const ProtobufCBinaryData *b);
ProtobufCBinaryData bytes_of(const char *text);

#endif
