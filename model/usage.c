/* SPDX-License-Identifier: BSD-3-Clause */
/* usage.c - adds up usage; unknown values stay unknown */
#include "model/usage.h"

static const char *const names[USAGE_FIELD_COUNT] = {
    [USAGE_CPU_USER] = "cpu_user_s",
    [USAGE_CPU_SYSTEM] = "cpu_system_s",
    [USAGE_WALL] = "wall_s",
    [USAGE_MEMORY_PEAK] = "memory_peak_bytes",
    [USAGE_RSS_PEAK] = "rss_peak_bytes",
    [USAGE_ANON_PEAK] = "anonymous_peak_sampled_bytes",
    [USAGE_FILE_PEAK] = "file_peak_sampled_bytes",
    [USAGE_SHARED_PEAK] = "shared_peak_sampled_bytes",
    [USAGE_SWAP_PEAK] = "swap_peak_sampled_bytes",
    [USAGE_ANON] = "anonymous_bytes",
    [USAGE_FILE] = "file_bytes",
    [USAGE_SHARED] = "shared_bytes",
    [USAGE_SWAP] = "swap_bytes",
    [USAGE_FAULTS_MINOR] = "faults_minor",
    [USAGE_FAULTS_MAJOR] = "faults_major",
    [USAGE_SWITCHES_VOLUNTARY] = "switches_voluntary",
    [USAGE_SWITCHES_INVOLUNTARY] = "switches_involuntary",
    [USAGE_READ_BYTES] = "read_bytes",
    [USAGE_WRITTEN_BYTES] = "written_bytes",
    [USAGE_STORAGE_READ] = "storage_read_bytes",
    [USAGE_STORAGE_WRITTEN] = "storage_written_bytes",
    [USAGE_THROTTLED] = "throttled_s",
    [USAGE_LIMIT_EVENTS] = "limit_events",
    [USAGE_MEMORY_STALL] = "memory_stall_s",
    [USAGE_OOM_KILLS] = "oom_kills",
    [USAGE_PROCESSES] = "processes",
};
_Static_assert(USAGE_FIELD_COUNT <= 32, "struct usage.known has a bit per field");

const char *usage_field_name(enum usage_field f)
{
    return f >= 0 && f < USAGE_FIELD_COUNT ? names[f] : "unknown";
}

/* For spans and largest processes the larger value counts; other values add up. */
static uint64_t combine(enum usage_field f, uint64_t a, uint64_t b)
{
    if (f == USAGE_WALL || f == USAGE_RSS_PEAK)
        return a > b ? a : b;
    return a + b < a ? UINT64_MAX : a + b;
}

void usage_add(struct usage *sum, const struct usage *u)
{
    if (!u->known)
        return;
    if (!sum->known) {
        *sum = *u;
        return;
    }
    sum->known &= u->known;
    for (unsigned f = 0; f < USAGE_FIELD_COUNT; f++)
        sum->value[f] = usage_has(sum, f) ? combine(f, sum->value[f], u->value[f]) : 0;
}

void usage_max(struct usage *u, enum usage_field f, uint64_t v)
{
    if (!usage_has(u, f) || u->value[f] < v)
        usage_set(u, f, v);
}

double usage_cpu_seconds(const struct usage *u)
{
    if (!usage_has(u, USAGE_CPU_USER) || !usage_has(u, USAGE_CPU_SYSTEM))
        return -1;
    return ((double)u->value[USAGE_CPU_USER] + (double)u->value[USAGE_CPU_SYSTEM]) / 1e6;
}
