/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/usage/process-usage.h"

#include <sys/time.h>

#include "common/processes/proc.h"

/* ---- processes that were waited for ---------------------------------------------------------- */

static uint64_t microseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec;
}

uint64_t rusage_cpu(const struct rusage *r)
{
    return microseconds(r->ru_utime) + microseconds(r->ru_stime);
}

static void set_time_and_peak(struct usage *u, const struct rusage *r)
{
    usage_set(u, USAGE_CPU_USER, microseconds(r->ru_utime));
    usage_set(u, USAGE_CPU_SYSTEM, microseconds(r->ru_stime));
    usage_set(u, USAGE_RSS_PEAK, (uint64_t)r->ru_maxrss * 1024);
}

void usage_from_rusage(struct usage *u, const struct rusage *r)
{
    set_time_and_peak(u, r);
    usage_set(u, USAGE_FAULTS_MINOR, (uint64_t)r->ru_minflt);
    usage_set(u, USAGE_FAULTS_MAJOR, (uint64_t)r->ru_majflt);
    usage_set(u, USAGE_SWITCHES_VOLUNTARY, (uint64_t)r->ru_nvcsw);
    usage_set(u, USAGE_SWITCHES_INVOLUNTARY, (uint64_t)r->ru_nivcsw);
}

void usage_add_rusage(struct usage *u, const struct rusage *r)
{
    struct usage one = {0};
    set_time_and_peak(&one, r);
    usage_add(u, &one);
}

void other_processes_add(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct other_processes *o = arg;
    timeradd(&o->sum.ru_utime, &usage->ru_utime, &o->sum.ru_utime);
    timeradd(&o->sum.ru_stime, &usage->ru_stime, &o->sum.ru_stime);
    if (usage->ru_maxrss > o->sum.ru_maxrss)
        o->sum.ru_maxrss = usage->ru_maxrss;
    o->n++;
}

/* ---- samples --------------------------------------------------------------------------------- */

int usage_sample(struct usage *u, const pid_t *pids, size_t n)
{
    struct proc_memory sum = {0};
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        struct proc_memory m;
        if (proc_memory_read(pids[i], &m) < 0)
            continue; /* it ended meanwhile */
        sum.anonymous += m.anonymous;
        sum.file += m.file;
        sum.shared += m.shared;
        sum.swap += m.swap;
        found++;
    }
    if (found == 0)
        return -1;
    usage_set(u, USAGE_ANON, sum.anonymous);
    usage_set(u, USAGE_FILE, sum.file);
    usage_set(u, USAGE_SHARED, sum.shared);
    usage_set(u, USAGE_SWAP, sum.swap);
    usage_max(u, USAGE_ANON_PEAK, sum.anonymous);
    usage_max(u, USAGE_FILE_PEAK, sum.file);
    usage_max(u, USAGE_SHARED_PEAK, sum.shared);
    usage_max(u, USAGE_SWAP_PEAK, sum.swap);
    return 0;
}
