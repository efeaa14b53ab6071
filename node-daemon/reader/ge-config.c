/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-config.c - reading an execd's `config` of a task
 *
 * Memory is written as it was asked for: for a slot, or where *_is_consumable_job says so for the
 * job. It is not multiplied here: share.c does that, once. */
#include "node-daemon/reader/ge-config.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/text/number.h"

enum { SLOTS_MAX = 1000000 };

/* ---- cores ----------------------------------------------------------------------------------- */

/* Add a core; -1: there is no room. */
static int add_core(char ret[GE_BINDING_MAX], unsigned socket, unsigned core)
{
    size_t len = strlen(ret);
    int n = snprintf(ret + len, GE_BINDING_MAX - len, "%s%u,%u", len ? ":" : "", socket, core);
    return n > 0 && len + (size_t)n < GE_BINDING_MAX ? 0 : -1;
}

/* The topology begins with its first socket, and counts cores anew in each. -1: it is none. */
static int read_topology(const char *p, const char *end, char ret[GE_BINDING_MAX])
{
    unsigned sockets = 0, cores = 0;
    for (; p < end; p++) {
        if (*p == 'S' || *p == 's') {
            sockets++;
            cores = 0;
        } else if (sockets == 0 || !strchr("CcTt", *p) || !*p) {
            return -1;
        } else if (*p == 'c' && add_core(ret, sockets - 1, cores) < 0) {
            return -1;
        }
        cores += *p == 'C' || *p == 'c';
    }
    return 0;
}

/* Find the cores that the value of `binding` names, as in struct ge_config: those that the topology
 * at its end ("SccC") has in lower case, whatever strategy found them (Grid Engine 8.1.9,
 * exec_job.c). "", where it names none, or says what is not known. Pure. */
static void ge_binding_parse(const char *value, size_t n, char ret[GE_BINDING_MAX])
{
    const char *last = n ? memrchr(value, ':', n) : NULL;
    ret[0] = 0;
    if (last && read_topology(last + 1, value + n, ret) < 0)
        ret[0] = 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

enum key { OWNER, SLOTS, VMEM, VMEM_JOB, RSS, RSS_JOB, BINDING, KEYS };
static const char *const keys[KEYS] = {
    [OWNER] = "job_owner", [SLOTS] = "host_slots",
    [VMEM] = "h_vmem",     [VMEM_JOB] = "h_vmem_is_consumable_job",
    [RSS] = "h_rss",       [RSS_JOB] = "h_rss_is_consumable_job",
    [BINDING] = "binding",
};

static bool is_again(const struct ge_config_reader *r, unsigned k)
{
    return r->again >> k & 1;
}

static enum key find_key(const char *name)
{
    unsigned k = 0;
    while (k < KEYS && strcmp(keys[k], name) != 0)
        k++;
    return k;
}

/* A value that is no number is no limit: a strange request must not keep a job from being
 * contained. */
static void take_slots(const char *value, uint32_t *ret)
{
    int64_t n;
    if (number_parse(value, NULL, 1, SLOTS_MAX, &n, NULL) == 0 && (*ret == 0 || n < *ret))
        *ret = (uint32_t)n;
}

static void take_memory(const char *value, struct gridengine_value *ret)
{
    struct gridengine_value v;
    if (gridengine_value_parse(value, &v) < 0 || !v.set || v.infinite)
        return;
    if (!ret->set || v.whole < ret->whole ||
        (v.whole == ret->whole && v.millionths < ret->millionths))
        *ret = v;
}

static void take_line(struct ge_config_reader *r)
{
    struct ge_config *c = &r->config;
    r->line[r->len] = 0;
    char *value = strchr(r->line, '=');
    if (!value)
        return;
    *value++ = 0;
    enum key k = find_key(r->line);
    unsigned bit = 1U << k, again = r->given & bit;
    r->again |= again;
    r->given |= bit;
    if (k == OWNER)
        snprintf(c->owner, sizeof(c->owner), "%s",
                 again || strlen(value) >= sizeof(c->owner) ? "" : value);
    else if (k == SLOTS)
        take_slots(value, &c->share.slots);
    else if (k == VMEM || k == RSS)
        take_memory(value, &r->memory[k == VMEM]);
    else if (k == VMEM_JOB || k == RSS_JOB)
        r->is_per_job[k == VMEM_JOB] |= !strcmp(value, "1");
    else if (k == BINDING)
        ge_binding_parse(value, again || r->len == sizeof(r->line) - 1 ? 0 : strlen(value),
                         c->binding);
}

void ge_config_feed(struct ge_config_reader *r, const char *bytes, size_t n)
{
    for (const char *at = bytes, *end = bytes + n; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);
        size_t room = sizeof(r->line) - 1 - r->len, fits = len < room ? len : room;
        memcpy(r->line + r->len, at, fits);
        r->len += fits;
        at += len;
        if (newline) {
            take_line(r);
            r->len = 0;
            at++;
        }
    }
}

static void add_demand(const struct ge_config_reader *r, int is_virtual, struct demand *d)
{
    const struct gridengine_value *v = &r->memory[is_virtual];
    if (v->set)
        d->part[d->n++] = (struct demand_part){
            .what = is_virtual ? DEMAND_VIRTUAL : DEMAND_MEMORY,
            .consumable = r->is_per_job[is_virtual] ? GRIDENGINE_PER_JOB : GRIDENGINE_PER_SLOT,
            .whole = v->whole,
            .millionths = v->millionths};
}

int ge_config_finish(struct ge_config_reader *r, struct ge_config *ret, struct error *err)
{
    struct ge_config *c = &r->config;
    take_line(r);
    if (!c->owner[0] && !is_again(r, OWNER))
        return error_set(err, EINVAL, "there is no %s", keys[OWNER]);
    for (unsigned k = KEYS; k-- > 0;)
        if (is_again(r, k))
            c->twice = keys[k];
    if (c->share.slots == 0)
        c->share.slots = 1;
    c->cores = c->share.slots;
    struct share without = c->share;
    add_demand(r, 1, &without.written);
    add_demand(r, 0, &c->share.written);
    add_demand(r, 1, &c->share.written);
    /* where the execd said no limit of it, the user's, though the smallest, would be the limit */
    struct limits l = share_limits(&without, NULL);
    if (is_again(r, RSS) && l.memory.set &&
        l.memory.value < share_limits(&c->share, NULL).memory.value)
        c->share = without;
    *ret = *c;
    return 0;
}
