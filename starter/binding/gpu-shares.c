/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/binding/gpu-shares.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/words.h"
#include "containment/mprund-protocol.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "starter/binding/rank-binding.h"
#include "wire/messages/launch.h"

/* ---- which GPUs there are -------------------------------------------------------------------- */

/* Returns whether a manager's variable is about this host: the manager has set it here, or mprun
 * runs here. */
static bool is_of_here(const struct launch *l, const char *name)
{
    return l->same_machine || is_any_of(name, (const char *const *)l->step.host_env);
}

static const char *managers_list(const struct launch *l, unsigned *ret_kinds)
{
    const char *list = NULL;
    *ret_kinds = 0;
    for (unsigned k = 0; k < GPU_KINDS; k++) {
        const char *value = is_of_here(l, gpu_variables[k]) ? getenv(gpu_variables[k]) : NULL;
        if (value)
            *ret_kinds |= 1u << k;
        list = list ? list : value;
    }
    return list;
}

static const char *managers_numbers(const struct launch *l)
{
    const struct rm_starter_side *m = rm_starter_side_of_job();
    for (const char *const *v = m ? m->gpu_numbers : NULL; v && *v; v++)
        if (is_of_here(l, *v) && getenv(*v))
            return getenv(*v);
    return NULL;
}

/* The cores near GPUs in mprund's configuration ("0-15;16-31") replace what the drivers say. */
static void take_near(struct host_gpus *g, const char *cores)
{
    for (size_t i = 0; i < g->n && *cores; i++, cores += *cores == ';') {
        size_t n = strcspn(cores, ";");
        AUTO_FREE char *one = must(strndup(cores, n));
        if (n)
            (void)idset_parse(one, &g->gpu[i].near, NULL);
        cores += n;
    }
}

static void find_gpus(struct gpu_shares *s, const struct launch *l,
                      const struct grant_answer *granted)
{
    unsigned kinds = 0;
    const char *list = granted->gpus[0] ? granted->gpus : managers_list(l, &kinds);
    const char *numbers = granted->gpus[0] ? NULL : managers_numbers(l);
    AUTO_CLOSE int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    host_gpus_read(root, list, numbers, &s->host);
    s->gpu = must(calloc(s->host.n + 1, sizeof(*s->gpu)));
    if (kinds)
        s->host.kinds = kinds;
    take_near(&s->host, granted->gpu_cores);
    for (size_t i = 0; i < s->host.n; i++)
        s->gpu[i].near = &s->host.gpu[i].near;
}

/* ---- which rank has them --------------------------------------------------------------------- */

static bool has_wish(const struct launch *l)
{
    bool has = l->step.bind.gpus || l->step.bind.gpu_sharers;
    for (size_t i = 0; i < l->step.napps; i++) {
        const struct binding_request *own = l->step.apps[i].bind;
        has |= own && (own->gpus || own->gpu_sharers);
    }
    return has;
}

static void make_wishes(struct gpu_shares *s, const struct launch *l, const struct rank_binding *b)
{
    for (uint32_t i = 0; i < s->nranks; i++) {
        const struct app *app = step_app_of(&l->step, rank_set_at(&launch_here(l)->ranks, i));
        const struct binding_request *how = app && app->bind ? app->bind : &l->step.bind;
        s->wish[i] = (struct plan_gpu_wish){
            .gpus = how->gpus, .sharers = how->gpu_sharers, .cpus = rank_binding_affinity(b, i)};
    }
}

static int say_too_few(const struct gpu_shares *s, const struct gpu_shares *of,
                       const struct launch *l, struct error *err)
{
    uint64_t needed = plan_gpus_needed(s->wish, s->nranks);
    char others[64] = "";
    if (s != of)
        snprintf(others, sizeof(others), ", some of them for ranks that run");
    return error_set(err, ENOSPC,
                     "--gpus-per-rank: on %s %u rank%s would have %llu GPU%s, and there %s %zu for "
                     "this step%s; start fewer ranks there, or let ranks share one (1/2)",
                     launch_here(l)->host, s->nranks, plural(s->nranks), (unsigned long long)needed,
                     plural(needed), of->host.n == 1 ? "is" : "are", of->host.n, others);
}

/* Returns the length of the longest id. */
static size_t length_of_id(const struct host_gpus *g)
{
    size_t most = 0;
    for (size_t i = 0; i < g->n; i++)
        if (strlen(g->gpu[i].id) > most)
            most = strlen(g->gpu[i].id);
    return most;
}

static int deal(struct gpu_shares *s, struct gpu_shares *of, const struct launch *l,
                const struct rank_binding *b, struct error *err)
{
    s->nranks = rank_set_count(&launch_here(l)->ranks);
    s->wish = must(calloc(s->nranks + 1, sizeof(*s->wish)));
    s->ranks = must(calloc(s->nranks + 1, sizeof(*s->ranks)));
    make_wishes(s, l, b);
    for (uint32_t i = 0; i < s->nranks; i++)
        if (s->wish[i].gpus * (length_of_id(&of->host) + 1) > GPU_LIST_MAX)
            return error_set(err, E2BIG,
                             "--gpus-per-rank: a rank on %s cannot have %u GPUs: their ids are "
                             "more than %d bytes",
                             launch_here(l)->host, s->wish[i].gpus, GPU_LIST_MAX);
    bool too_few = plan_gpus_deal(of->gpu, of->host.n, s->wish, s->nranks, s->ranks);
    return too_few ? say_too_few(s, of, l, err) : 0;
}

int gpu_shares_choose(struct gpu_shares *s, const struct launch *launch,
                      const struct rank_binding *b, const struct grant_answer *granted,
                      struct error *err)
{
    *s = (struct gpu_shares){.is_asked = has_wish(launch)};
    if (!s->is_asked && !granted->gpus[0])
        return 0;
    find_gpus(s, launch, granted);
    return s->is_asked ? deal(s, s, launch, b, err) : 0;
}

int gpu_shares_choose_more(struct gpu_shares *s, const struct launch *launch,
                           const struct rank_binding *b, struct gpu_shares *first,
                           struct error *err)
{
    *s = (struct gpu_shares){.first = first, .is_asked = first->is_asked};
    return s->is_asked ? deal(s, first, launch, b, err) : 0;
}

void gpu_shares_give_back(struct gpu_shares *s)
{
    struct gpu_shares *of = s->first ? s->first : s;
    for (uint32_t r = 0; s->ranks && r < s->nranks; r++) {
        IDSET_FOREACH (i, &s->ranks[r])
            of->gpu[i].used -= plan_gpu_part(&s->wish[r]);
        idset_free(&s->ranks[r]);
    }
    free(s->ranks);
    free(s->wish);
    s->ranks = NULL;
    s->wish = NULL;
    s->nranks = 0;
}

void gpu_shares_free(struct gpu_shares *s)
{
    gpu_shares_give_back(s);
    free(s->gpu);
    host_gpus_free(&s->host);
    *s = (struct gpu_shares){.nranks = 0};
}

static const struct gpu_shares *first_of(const struct gpu_shares *s)
{
    return s->first ? s->first : s;
}

static void add_id(char list[GPU_LIST_MAX], const struct gpu_shares *first, size_t i)
{
    size_t len = strlen(list);
    snprintf(list + len, GPU_LIST_MAX - len, "%s%s", len ? "," : "", first->host.gpu[i].id);
}

bool gpu_shares_of(const struct gpu_shares *s, uint32_t local, char ret[GPU_LIST_MAX])
{
    ret[0] = 0;
    if (local >= s->nranks || !s->ranks || (!s->wish[local].gpus && !s->wish[local].sharers))
        return false;
    IDSET_FOREACH (i, &s->ranks[local])
        add_id(ret, first_of(s), (size_t)i);
    return true;
}

void gpu_shares_of_all(const struct gpu_shares *first, char ret[GPU_LIST_MAX])
{
    ret[0] = 0;
    for (size_t i = 0; i < first->host.n; i++)
        if (first->gpu[i].used)
            add_id(ret, first, i);
}

bool gpu_shares_know_files(const struct gpu_shares *s)
{
    const struct host_gpus *g = &first_of(s)->host;
    bool all = g->nfiles <= CGROUP_DEVICES_MAX;
    for (size_t i = 0; all && i < g->n; i++) {
        size_t f = 0;
        while (f < g->nfiles && g->file[f].gpu != (int)i)
            f++;
        all = f < g->nfiles;
    }
    return all;
}

size_t gpu_shares_others_files(const struct gpu_shares *s, uint32_t local,
                               struct cgroup_device ret[CGROUP_DEVICES_MAX])
{
    const struct host_gpus *g = &first_of(s)->host;
    size_t n = 0;
    for (size_t f = 0; f < g->nfiles && n < CGROUP_DEVICES_MAX; f++)
        if (g->file[f].gpu < 0 || !idset_has(&s->ranks[local], (unsigned)g->file[f].gpu))
            ret[n++] = (struct cgroup_device){
                .major = g->file[f].major, .minor = g->file[f].minor, .is_denied = 1};
    return n;
}

unsigned gpu_shares_kinds(const struct gpu_shares *s)
{
    return first_of(s)->host.kinds;
}
