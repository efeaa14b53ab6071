/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/gridengine/job-demand.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum { MILLION = 1000000 };

/* ---- from a job ------------------------------------------------------------------------------ */

static int add(struct demand *d, enum demand_what what, const struct gridengine_request *q,
               struct error *err)
{
    if (d->n == DEMAND_PARTS)
        return error_set(err, E2BIG,
                         "the job has more than %d requests for memory, virtual memory and GPUs",
                         (int)DEMAND_PARTS);
    d->part[d->n++] = (struct demand_part){
        .what = (uint8_t)what,
        .consumable = (uint8_t)q->consumable,
        .scope = (uint8_t)q->scope,
        .infinite = q->value.infinite != 0,
        .whole = q->value.infinite ? 0 : q->value.whole,
        .millionths = q->value.infinite ? 0 : q->value.millionths,
    };
    return 0;
}

static enum demand_what what_of(const struct resource_names *names, const char *name)
{
    if (!strcmp(name, names->memory))
        return DEMAND_MEMORY;
    if (!strcmp(name, names->virtual_memory))
        return DEMAND_VIRTUAL;
    return strcmp(name, names->gpu) == 0 ? DEMAND_GPU : 0;
}

int demand_of_job(const struct gridengine_job *job, const struct resource_names *names,
                  struct demand *ret, struct error *err)
{
    struct demand d = {.n = 0};
    for (size_t i = 0; i < job->nrequests; i++) {
        const struct gridengine_request *q = &job->requests[i];
        enum demand_what what = what_of(names, q->name);
        if (what == 0 || !q->value.set)
            continue;
        if (q->consumable > GRIDENGINE_PER_HOST || q->scope > GRIDENGINE_SLAVE_TASKS)
            return error_set(err, EPROTO, "how '%.60s' counts is not known", q->name);
        if (add(&d, what, q, err) < 0)
            return -1;
    }
    *ret = d;
    return 0;
}

/* ---- for a host ------------------------------------------------------------------------------ */

static uint64_t times_on(const struct demand_part *p, uint32_t slots, bool is_master)
{
    if (p->consumable == GRIDENGINE_PER_JOB && p->what != DEMAND_GPU)
        return 1;
    return resource_times(p->consumable, p->scope, slots, is_master);
}

bool demand_on(const struct demand *d, enum demand_what what, uint32_t slots, bool is_master,
               uint64_t *ret)
{
    uint64_t sum = 0, part;
    bool is_asked = false;
    for (uint32_t i = 0; i < d->n; i++) {
        const struct demand_part *p = &d->part[i];
        struct gridengine_value v = {.set = 1, .whole = p->whole, .millionths = p->millionths};
        uint64_t times = p->what == what ? times_on(p, slots, is_master) : 0;
        if (times == 0)
            continue;
        if (p->infinite || gridengine_value_times(&v, times, &part) < 0 ||
            __builtin_add_overflow(sum, part, &sum))
            return false;
        is_asked = true;
    }
    if (is_asked)
        *ret = sum;
    return is_asked;
}

/* ---- as bytes -------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct demand_part) == 16, "a part has no padding");

/* Between this machine's order of bytes and that of the wire. */
static struct demand_part swapped(struct demand_part p)
{
    p.millionths = htole32(p.millionths);
    p.whole = htole64(p.whole);
    return p;
}

void demand_put(const struct demand *d, uint8_t buf[DEMAND_BYTES])
{
    uint32_t n = htole32(d->n);
    memset(buf, 0, DEMAND_BYTES);
    memcpy(buf, &n, sizeof(n));
    for (size_t i = 0; i < d->n; i++) {
        struct demand_part p = swapped(d->part[i]);
        memcpy(buf + 8 + i * sizeof(p), &p, sizeof(p));
    }
}

static bool is_sound(const struct demand_part *p)
{
    return p->what >= DEMAND_MEMORY && p->what <= DEMAND_GPU &&
           p->consumable <= GRIDENGINE_PER_HOST && p->scope <= GRIDENGINE_SLAVE_TASKS &&
           p->infinite <= 1 && p->millionths < MILLION && p->whole <= INT64_MAX &&
           !(p->infinite && (p->whole || p->millionths));
}

int demand_get(const uint8_t buf[DEMAND_BYTES], struct demand *ret)
{
    uint8_t again[DEMAND_BYTES];
    struct demand d = {.n = 0};
    memcpy(&d.n, buf, sizeof(d.n));
    d.n = le32toh(d.n);
    if (d.n > DEMAND_PARTS)
        return -1;
    for (size_t i = 0; i < d.n; i++) {
        memcpy(&d.part[i], buf + 8 + i * sizeof(d.part[i]), sizeof(d.part[i]));
        d.part[i] = swapped(d.part[i]);
        if (!is_sound(&d.part[i]))
            return -1;
    }
    demand_put(&d, again);
    if (memcmp(again, buf, sizeof(again)) != 0) /* something where nothing belongs */
        return -1;
    *ret = d;
    return 0;
}
