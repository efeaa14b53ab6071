/* SPDX-License-Identifier: BSD-3-Clause */
/* usage.h - resources that a rank, a host's starter, or a step used. An unknown value is absent,
 * never 0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum usage_field {
    USAGE_CPU_USER,    /* microseconds, dead children included */
    USAGE_CPU_SYSTEM,  /* microseconds */
    USAGE_WALL,        /* microseconds from start to exit */
    USAGE_MEMORY_PEAK, /* bytes, exact, all processes together (cgroup) */
    USAGE_RSS_PEAK,    /* bytes, largest single process (getrusage) */
    USAGE_ANON_PEAK,   /* bytes, sampled */
    USAGE_FILE_PEAK,   /* bytes, sampled */
    USAGE_SHARED_PEAK, /* bytes, sampled */
    USAGE_SWAP_PEAK,   /* bytes, sampled */
    USAGE_ANON,        /* bytes, now: live views only */
    USAGE_FILE,        /* bytes, now */
    USAGE_SHARED,      /* bytes, now */
    USAGE_SWAP,        /* bytes, now */
    USAGE_FAULTS_MINOR,
    USAGE_FAULTS_MAJOR,
    USAGE_SWITCHES_VOLUNTARY,
    USAGE_SWITCHES_INVOLUNTARY,
    USAGE_READ_BYTES, /* through read(2) and its kin */
    USAGE_WRITTEN_BYTES,
    USAGE_STORAGE_READ, /* that reached a storage device */
    USAGE_STORAGE_WRITTEN,
    USAGE_THROTTLED,    /* microseconds without CPU because of a quota */
    USAGE_LIMIT_EVENTS, /* times the memory limit was hit */
    USAGE_MEMORY_STALL, /* microseconds in which a process waited until memory was taken back */
    USAGE_OOM_KILLS,
    USAGE_PROCESSES, /* reaped, or seen at the end */
    USAGE_FIELD_COUNT,
};

struct usage {
    uint64_t value[USAGE_FIELD_COUNT];
    uint32_t known; /* bit per field */
};

/* "cpu_user_s": keys of the JSON report, where "_s" is seconds */
const char *usage_field_name(enum usage_field f);
static inline bool usage_has(const struct usage *u, enum usage_field f)
{
    return (u->known >> f) & 1;
}
static inline void usage_set(struct usage *u, enum usage_field f, uint64_t v)
{
    u->value[f] = v;
    u->known |= 1u << f;
}
/* Adds u to sum. A field of the sum is known only when both have it, or when one of them has no
 * field at all. Peaks are added, too: the sum of peaks is an upper bound. Of wall times and of
 * largest processes the larger counts. */
void usage_add(struct usage *sum, const struct usage *u);
/* Sets a field to the larger of its value and v: for sampled peaks. */
void usage_max(struct usage *u, enum usage_field f, uint64_t v);
/* user + system in seconds, or -1 when unknown. */
double usage_cpu_seconds(const struct usage *u);
