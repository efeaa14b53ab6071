/* SPDX-License-Identifier: BSD-3-Clause */
/* v2.c - the files of the cgroup2 hierarchy
 *
 * Files that came later than the oldest kernel we run on, and what is done without them:
 * cgroup.freeze 5.2, memory.events.local 5.2, cgroup.kill 5.14, memory.peak 5.19 (unknown);
 * memory.pressure 4.20 and not with each configuration (unknown);
 * memory.oom.group 4.19 (the kernel then kills one process, and we the others). */
#include "containment/cgroup/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/number.h"

enum { TEXT_MAX = 4096 };

/* Write "+memory +pids". */
static int write_controllers(struct cgroup_at d, char sign, unsigned controllers)
{
    char text[256] = "";
    size_t len = 0;
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        if (controllers & CGROUP_BIT(c))
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%c%s", len ? " " : "", sign,
                                    cgroup_controller_text(c));
    return len ? at_write(d, "cgroup.subtree_control", text) : 0;
}

/* The controllers of `among` that children of d have. */
static int read_enabled(struct cgroup_at d, unsigned among, unsigned *ret)
{
    char text[512];
    if (at_read(d, "cgroup.subtree_control", text, sizeof(text)) < 0)
        return -1;
    *ret = cgroup_controllers_in(text, among);
    return 0;
}

static unsigned v2_enable(struct cgroup_at d, unsigned controllers)
{
    unsigned have;
    if (!controllers || read_enabled(d, controllers, &have) < 0)
        return 0;
    if (write_controllers(d, '+', controllers & ~have) == 0)
        return controllers;
    /* a controller that this cgroup cannot have must not cost it the others */
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        (void)write_controllers(d, '+', controllers & ~have & CGROUP_BIT(c));
    return read_enabled(d, controllers, &have) < 0 ? 0 : have;
}

static void v2_disable(struct cgroup_at d, unsigned controllers)
{
    unsigned have;
    if (read_enabled(d, controllers, &have) == 0)
        (void)write_controllers(d, '-', have);
}

static int v2_prepare(struct cgroup_at parent, struct cgroup_at d, unsigned controllers)
{
    return 0;
}

/* The kernel rounds to whole pages: what it took is what the limit is. */
static void set_limit(struct cgroup_at d, const char *file, struct limit *l)
{
    uint64_t taken;
    if (!l->set || at_write_u64(d, file, l->value) < 0 || at_read_u64(d, file, &taken) < 0)
        return;
    l->value = taken;
    l->held_by = HELD_BY_CGROUP;
}

static void v2_limit(struct cgroup_at d, unsigned controllers, struct limits *l)
{
    if (controllers & CGROUP_BIT(CGROUP_MEMORY)) {
        set_limit(d, "memory.max", &l->memory);
        set_limit(d, "memory.swap.max", &l->swap);
        if (l->swap.set && l->swap.held_by == HELD_BY_NONE && !machine_has_swap())
            l->swap.held_by = HELD_BY_CGROUP; /* kernels without swap accounting lack the file */
    }
    if (controllers & CGROUP_BIT(CGROUP_PIDS))
        set_limit(d, "pids.max", &l->pids);
}

static void v2_lift(struct cgroup_at d, unsigned controllers, const struct limits *l)
{
    if ((controllers & CGROUP_BIT(CGROUP_MEMORY)) && !l->memory.set)
        (void)at_write(d, "memory.max", "max");
    if ((controllers & CGROUP_BIT(CGROUP_MEMORY)) && !l->swap.set)
        (void)at_write(d, "memory.swap.max", "max");
    if ((controllers & CGROUP_BIT(CGROUP_PIDS)) && !l->pids.set)
        (void)at_write(d, "pids.max", "max");
}

static void take_key(const char *text, const char *key, enum usage_field f, struct usage *u)
{
    uint64_t v;
    if (flat_key_u64(text, key, &v) == 0)
        usage_set(u, f, v);
}

/* With memory.oom.group the kernel kills the first process, and counts it once more when it goes
 * through the whole group. Kernels before 5.17 do not say how often that was. */
static int killed_processes(const char *events, uint64_t *ret)
{
    uint64_t kills, groups = 0;
    if (flat_key_u64(events, "oom_kill", &kills) < 0)
        return -1;
    (void)flat_key_u64(events, "oom_group_kill", &groups);
    *ret = kills >= 2 * groups ? kills - groups : groups;
    return 0;
}

/* From the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", which comes first. */
static void take_stall(const char *pressure, struct usage *u)
{
    const char *total = strstr(pressure, "total=");
    if (total)
        usage_set(u, USAGE_MEMORY_STALL, strtoull(total + strlen("total="), NULL, 10));
}

static void v2_usage(struct cgroup_at d, unsigned controllers, struct usage *u)
{
    char text[TEXT_MAX];
    uint64_t v;
    if (at_read(d, "cpu.stat", text, sizeof(text)) > 0) {
        take_key(text, "user_usec", USAGE_CPU_USER, u);
        take_key(text, "system_usec", USAGE_CPU_SYSTEM, u);
        take_key(text, "throttled_usec", USAGE_THROTTLED, u);
    }
    if (at_read(d, "memory.pressure", text, sizeof(text)) > 0)
        take_stall(text, u);
    if (!(controllers & CGROUP_BIT(CGROUP_MEMORY)))
        return;
    if (at_read_u64(d, "memory.peak", &v) == 0)
        usage_set(u, USAGE_MEMORY_PEAK, v);
    if (at_read(d, "memory.events", text, sizeof(text)) > 0) {
        take_key(text, "max", USAGE_LIMIT_EVENTS, u);
        if (killed_processes(text, &v) == 0)
            usage_set(u, USAGE_OOM_KILLS, v);
    }
}

static int v2_oom_count(struct cgroup_at d, struct oom_count *ret)
{
    char all[TEXT_MAX], own[TEXT_MAX];
    if (at_read(d, "memory.events", all, sizeof(all)) < 0)
        return -1;
    int has_own = at_read(d, "memory.events.local", own, sizeof(own)) > 0;
    if (flat_key_u64(has_own ? own : all, "oom", &ret->hits) < 0)
        return -1;
    return killed_processes(all, &ret->kills);
}

static int event_state(struct cgroup_at d, const char *key)
{
    char text[256];
    uint64_t v;
    if (at_read(d, "cgroup.events", text, sizeof(text)) < 0 || flat_key_u64(text, key, &v) < 0)
        return -1;
    return v != 0;
}

static int v2_freeze(struct cgroup_at d, int frozen)
{
    if (at_write(d, "cgroup.freeze", frozen ? "1" : "0") < 0)
        return -1;
    int is = event_state(d, "frozen");
    return is < 0 ? -1 : is == !!frozen;
}

static int v2_populated(struct cgroup_at d)
{
    return event_state(d, "populated");
}

static int v2_kill(struct cgroup_at d)
{
    return at_write(d, "cgroup.kill", "1");
}

const struct cgroup_driver cgroup_driver_v2 = {
    .version = 2,
    .enable = v2_enable,
    .disable = v2_disable,
    .prepare = v2_prepare,
    .limit = v2_limit,
    .lift = v2_lift,
    .usage = v2_usage,
    .memory = "memory.current",
    .oom_count = v2_oom_count,
    .freeze = v2_freeze,
    .populated = v2_populated,
    .kill = v2_kill,
};
