/* SPDX-License-Identifier: BSD-3-Clause */
/* v1.c - the files of v1 hierarchies
 *
 * Each mount is a hierarchy of its own with one or more controllers, so moves are not atomic
 * across them; nothing is delegated in general. */
#include "containment/cgroup/driver.h"

#include <string.h>

#include "common/text/number.h"

enum { TEXT_MAX = 4096, NS_PER_US = 1000 };

static unsigned v1_enable(struct cgroup_at d, unsigned controllers)
{
    return controllers; /* every cgroup of a hierarchy has its controllers */
}

static int copy_if_empty(struct cgroup_at from, struct cgroup_at to, const char *file)
{
    char text[TEXT_MAX];
    if (at_read(to, file, text, sizeof(text)) != 0) /* set already, or not there */
        return 0;
    return at_read(from, file, text, sizeof(text)) > 0 ? at_write(to, file, text) : -1;
}

/* A new cpuset takes no process before it has cpus and mems. Before 5.11 a memory cgroup does not
 * count what its children use unless told so while it has none. */
static int v1_prepare(struct cgroup_at parent, struct cgroup_at d, unsigned controllers)
{
    char text[16];
    if ((controllers & CGROUP_BIT(CGROUP_MEMORY)) &&
        at_read(d, "memory.use_hierarchy", text, sizeof(text)) > 0 && text[0] == '0')
        (void)at_write(d, "memory.use_hierarchy", "1");
    if (!(controllers & CGROUP_BIT(CGROUP_CPUSET)))
        return 0;
    return copy_if_empty(parent, d, "cpuset.cpus") < 0 ? -1
                                                       : copy_if_empty(parent, d, "cpuset.mems");
}

/* "No limit" reads as a huge number in v1: so a limit holds if the number read is not above it. */
static int write_limit(struct cgroup_at d, const char *file, uint64_t value, uint64_t *ret_taken)
{
    if (at_write_u64(d, file, value) < 0 || at_read_u64(d, file, ret_taken) < 0)
        return -1;
    return *ret_taken <= value ? 0 : -1;
}

static void limit_memory(struct cgroup_at d, struct limits *l)
{
    uint64_t taken, with_swap;
    if (!l->memory.set || write_limit(d, "memory.limit_in_bytes", l->memory.value, &taken) < 0)
        return;
    l->memory.value = taken;
    l->memory.held_by = HELD_BY_CGROUP;
    if (!l->swap.set)
        return;
    /* memory and swap together may never be below memory alone: so this one comes second */
    if (write_limit(d, "memory.memsw.limit_in_bytes", taken + l->swap.value, &with_swap) == 0) {
        l->swap.value = with_swap - taken;
        l->swap.held_by = HELD_BY_CGROUP;
    } else if (!machine_has_swap()) {
        l->swap.held_by = HELD_BY_CGROUP;
    }
}

static void v1_limit(struct cgroup_at d, unsigned controllers, struct limits *l)
{
    uint64_t taken;
    if (controllers & CGROUP_BIT(CGROUP_MEMORY))
        limit_memory(d, l);
    if ((controllers & CGROUP_BIT(CGROUP_PIDS)) && l->pids.set &&
        write_limit(d, "pids.max", l->pids.value, &taken) == 0) {
        l->pids.value = taken;
        l->pids.held_by = HELD_BY_CGROUP;
    }
}

/* Memory alone can be raised as far as memory and swap together, which limit() sets again. */
static void v1_lift(struct cgroup_at d, unsigned controllers, const struct limits *l)
{
    if (controllers & CGROUP_BIT(CGROUP_MEMORY)) {
        (void)at_write(d, "memory.memsw.limit_in_bytes", "-1");
        if (!l->memory.set)
            (void)at_write(d, "memory.limit_in_bytes", "-1");
    }
    if ((controllers & CGROUP_BIT(CGROUP_PIDS)) && !l->pids.set)
        (void)at_write(d, "pids.max", "max");
}

/* User time and system time. The kernel counts them by ticks, so only their proportion is good. */
static int cpu_parts(struct cgroup_at d, uint64_t *user, uint64_t *sys)
{
    char text[TEXT_MAX];
    if (at_read_u64(d, "cpuacct.usage_user", user) == 0 &&
        at_read_u64(d, "cpuacct.usage_sys", sys) == 0)
        return 0;
    if (at_read(d, "cpuacct.stat", text, sizeof(text)) > 0 &&
        flat_key_u64(text, "user", user) == 0 && flat_key_u64(text, "system", sys) == 0)
        return 0;
    return -1;
}

static void cpu_usage(struct cgroup_at d, struct usage *u)
{
    uint64_t all, user, sys, throttled;
    char text[TEXT_MAX];
    if (at_read_u64(d, "cpuacct.usage", &all) == 0 && cpu_parts(d, &user, &sys) == 0) {
        double part = user + sys ? (double)sys / (double)(user + sys) : 0;
        uint64_t system = (uint64_t)((double)all * part);
        usage_set(u, USAGE_CPU_SYSTEM, system / NS_PER_US);
        usage_set(u, USAGE_CPU_USER, (all - system) / NS_PER_US);
    }
    if (at_read(d, "cpu.stat", text, sizeof(text)) > 0 && /* where cpu is mounted with cpuacct */
        flat_key_u64(text, "throttled_time", &throttled) == 0)
        usage_set(u, USAGE_THROTTLED, throttled / NS_PER_US);
}

/* Counts how often the limit of memory, or of memory and swap, refused a charge. Linux 6.18 does
 * not count the latter. */
static int limit_hits(struct cgroup_at d, uint64_t *ret)
{
    uint64_t with_swap, limit, peak;
    if (at_read_u64(d, "memory.failcnt", ret) < 0)
        return -1;
    if (at_read_u64(d, "memory.memsw.limit_in_bytes", &limit) < 0 || limit >= CGROUP_V1_UNLIMITED)
        return 0;
    if (at_read_u64(d, "memory.memsw.failcnt", &with_swap) == 0)
        *ret += with_swap;
    if (*ret == 0)
        *ret = at_read_u64(d, "memory.memsw.max_usage_in_bytes", &peak) == 0 && peak >= limit;
    return 0;
}

static int v1_oom_count(struct cgroup_at d, struct oom_count *ret)
{
    char text[TEXT_MAX];
    if (limit_hits(d, &ret->hits) < 0 || at_read(d, "memory.oom_control", text, sizeof(text)) < 0)
        return -1;
    return flat_key_u64(text, "oom_kill", &ret->kills); /* since 4.13 */
}

static void v1_usage(struct cgroup_at d, unsigned controllers, struct usage *u)
{
    uint64_t v;
    struct oom_count count;
    if (controllers & CGROUP_BIT(CGROUP_CPU))
        cpu_usage(d, u);
    if (!(controllers & CGROUP_BIT(CGROUP_MEMORY)))
        return;
    if (at_read_u64(d, "memory.max_usage_in_bytes", &v) == 0)
        usage_set(u, USAGE_MEMORY_PEAK, v);
    if (limit_hits(d, &v) == 0)
        usage_set(u, USAGE_LIMIT_EVENTS, v);
    if (v1_oom_count(d, &count) == 0)
        usage_set(u, USAGE_OOM_KILLS, count.kills);
}

static int v1_freeze(struct cgroup_at d, int frozen)
{
    const char *want = frozen ? "FROZEN" : "THAWED";
    char is[32];
    if (at_write(d, "freezer.state", want) < 0 || at_read(d, "freezer.state", is, sizeof(is)) < 0)
        return -1;
    return !strcmp(is, want);
}

const struct cgroup_driver cgroup_driver_v1 = {
    .version = 1,
    .enable = v1_enable,
    .prepare = v1_prepare,
    .limit = v1_limit,
    .lift = v1_lift,
    .usage = v1_usage,
    .memory = "memory.usage_in_bytes",
    .oom_count = v1_oom_count,
    .freeze = v1_freeze,
    .populated = at_has_processes,
};
