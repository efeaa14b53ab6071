/* SPDX-License-Identifier: BSD-3-Clause */
/* job-resources.c - multiplies requests by slots, exactly once */
#include "rm-adapters/gridengine/job-resources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/must.h"
#include "common/text/words.h"

const struct resource_names resource_names_default = {
    .memory = "m_mem_free",
    .virtual_memory = "h_vmem",
    .gpu = "nvidia_gpu",
    .phi = "intel_phi",
    .runtime = "h_rt",
    .standby = "standby",
};

struct making {
    const struct gridengine_job *job;
    const struct resource_names *names;
    struct resources *r;
    struct error *err;
};

/* ---- what was asked for ---------------------------------------------------------------------- */

uint64_t resource_times(unsigned consumable, unsigned scope, uint32_t slots, bool is_master)
{
    if (consumable == GRIDENGINE_PER_JOB)
        return is_master ? 1 : 0;
    if (consumable == GRIDENGINE_PER_HOST)
        return scope == GRIDENGINE_MASTER_TASK && !is_master ? 0 : 1;
    if (scope == GRIDENGINE_MASTER_TASK)
        return is_master ? 1 : 0;
    if (scope == GRIDENGINE_SLAVE_TASKS && is_master)
        return slots - 1;
    return slots;
}

static int too_large(const struct making *m, const char *name, const char *host)
{
    return error_set(m->err, ERANGE,
                     "'%.60s' on host '%.60s': the value times the slots is too large", name, host);
}

/* Add up all requests of this name for a host. If one has no limit, nothing is set. */
static int requested(const struct making *m, const char *name, const struct resource_host *h,
                     struct resource_amount *ret)
{
    int is_master = h == m->r->hosts, infinite = 0;
    for (size_t i = 0; i < m->job->nrequests; i++) {
        const struct gridengine_request *q = &m->job->requests[i];
        uint64_t times = resource_times(q->consumable, q->scope, h->slots, is_master), part;
        if (strcmp(q->name, name) != 0 || !q->value.set || times == 0)
            continue;
        infinite |= q->value.infinite;
        if (q->value.infinite)
            continue;
        if (gridengine_value_times(&q->value, times, &part) < 0 ||
            __builtin_add_overflow(ret->value, part, &ret->value))
            return too_large(m, name, h->name);
        ret->set = 1;
    }
    if (infinite)
        *ret = (struct resource_amount){.set = 0};
    return 0;
}

/* The last request of this name, for one slot. */
static struct resource_amount of_slot(const struct making *m, const char *name)
{
    struct resource_amount a = {.set = 0};
    for (size_t i = 0; i < m->job->nrequests; i++) {
        const struct gridengine_request *q = &m->job->requests[i];
        if (strcmp(q->name, name) == 0 && gridengine_value_times(&q->value, 1, &a.value) == 0)
            a.set = 1;
    }
    return a;
}

static bool is_standby(const struct making *m)
{
    size_t n = strlen(m->names->standby);
    for (size_t i = 0; i < m->job->nrequests; i++) {
        const struct gridengine_request *q = &m->job->requests[i];
        int counts = q->value.infinite || q->value.whole || q->value.millionths;
        if (strncmp(q->name, m->names->standby, n) == 0 && q->value.set && counts)
            return true;
    }
    return false;
}

/* ---- what was granted ------------------------------------------------------------------------ */

/* Returns how much of this complex the manager granted on a host; h NULL: on any. */
static const struct gridengine_grant *granted(const struct making *m, const char *name,
                                              const struct resource_host *h)
{
    for (size_t i = 0; i < m->job->ngrants; i++)
        if (strcmp(m->job->grants[i].name, name) == 0 &&
            (!h || strcasecmp(m->job->grants[i].host, h->name) == 0))
            return &m->job->grants[i];
    return NULL;
}

static int amount_on(const struct making *m, const char *name, const struct resource_host *h,
                     struct resource_amount *ret)
{
    const struct gridengine_grant *g = granted(m, name, h);
    *ret = (struct resource_amount){.set = 0};
    if (!granted(m, name, NULL)) /* else the manager names what it granted on every host */
        return requested(m, name, h, ret);
    if (!g || !g->amount.set || g->amount.infinite)
        return 0;
    ret->set = 1;
    return gridengine_value_times(&g->amount, 1, &ret->value) < 0 ? too_large(m, name, h->name) : 0;
}

/* Other programs get a device's name as a word: it must be one word, and no option. */
static int check_ids(const struct making *m, const char *name, const struct resource_host *h,
                     const char *ids)
{
    static const char allowed[] =
        "._:/+@-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char shown[64];
    for (const char *id = ids; *id; id += strspn(id, " ")) {
        size_t n = strcspn(id, " ");
        if (n == 0 || strchr("._:/+@-", *id) || strspn(id, allowed) < n)
            return error_set(m->err, EBADMSG,
                             "'%.60s' on host '%.60s': '%s' is no name of a device; expected are "
                             "letters, digits and '._:/+@-'",
                             name, h->name, word_shown(id, n, shown));
        id += n;
    }
    return 0;
}

static int devices_on(const struct making *m, const char *name, const struct resource_host *h,
                      struct resource_devices *ret)
{
    const struct gridengine_grant *g = granted(m, name, h);
    *ret = (struct resource_devices){.ids = NULL};
    if (!g || !g->ids)
        return amount_on(m, name, h, &ret->count);
    if (check_ids(m, name, h, g->ids) < 0)
        return -1;
    ret->count = (struct resource_amount){.set = 1, .value = g->nids};
    ret->ids = must(strdup(g->ids));
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int make_host(const struct making *m, struct resource_host *h)
{
    const struct resource_names *n = m->names;
    return amount_on(m, n->memory, h, &h->memory) < 0 ||
                   amount_on(m, n->virtual_memory, h, &h->virtual_memory) < 0 ||
                   devices_on(m, n->gpu, h, &h->gpu) < 0 || devices_on(m, n->phi, h, &h->phi) < 0
               ? -1
               : 0;
}

int resources_of_job(const struct gridengine_job *job, const struct resource_names *names,
                     struct resources *ret, struct error *err)
{
    struct resources r = {.nhosts = job->hosts.allocation.nhosts};
    struct making m = {.job = job, .names = names, .r = &r, .err = err};
    r.hosts = must(calloc(r.nhosts + 1, sizeof(*r.hosts)));
    for (size_t i = 0; i < r.nhosts; i++) {
        const struct alloc_host *h = &job->hosts.allocation.hosts[i];
        r.hosts[i] = (struct resource_host){.name = h->name, .slots = h->slots.value};
        if (make_host(&m, &r.hosts[i]) < 0) {
            resources_free(&r);
            return -1;
        }
    }
    r.max_runtime = of_slot(&m, names->runtime);
    r.slot_virtual_memory = of_slot(&m, names->virtual_memory);
    r.standby = is_standby(&m);
    *ret = r;
    return 0;
}

void resources_free(struct resources *r)
{
    for (size_t i = 0; i < r->nhosts; i++) {
        free(r->hosts[i].gpu.ids);
        free(r->hosts[i].phi.ids);
    }
    free(r->hosts);
    *r = (struct resources){.hosts = NULL};
}

/* "n1" of "n1.example.org"; all of an address */
static size_t first_part(const char *name)
{
    return name[strspn(name, "0123456789.:")] ? strcspn(name, ".") : strlen(name);
}

const struct resource_host *resources_host(const struct resources *r, const char *name)
{
    const struct resource_host *near = NULL;
    size_t n = first_part(name), found = 0;
    for (size_t i = 0; i < r->nhosts; i++)
        if (strcasecmp(r->hosts[i].name, name) == 0)
            return &r->hosts[i];
    for (size_t i = 0; i < r->nhosts; i++) {
        const char *other = r->hosts[i].name;
        /* two full names that differ are two hosts */
        int full = name[n] && other[first_part(other)];
        if (full || first_part(other) != n || strncasecmp(other, name, n) != 0)
            continue;
        near = &r->hosts[i];
        found++;
    }
    return found == 1 ? near : NULL;
}
