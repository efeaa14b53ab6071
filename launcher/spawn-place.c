/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/spawn-place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "launcher/hosts/host-links.h"
#include "launcher/worlds.h"
#include "rm-adapters/hosts/hostlist.h"

char *spawn_key(const Mprun__Spawn__App *app, const char *name)
{
    for (size_t i = app->n_keys; i-- > 0;)
        if (strcmp(app->keys[i]->name, name) == 0)
            return bytes_dup(&app->keys[i]->value);
    return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

struct wish { /* where ranks are to go */
    struct plan_options options;
    struct hostlist named; /* with no host: all */
    bool has_names;
    const char *directory; /* for relative names of files */
};

static int per_host(const char *key, const char *text, size_t n, uint32_t *ret, struct error *err)
{
    AUTO_FREE char *number = strndup(text, n);
    int64_t v;
    if (!number || number_parse(number, key, 1, CMDLINE_RANKS_MAX, &v, err) < 0)
        return error_context(err, "info key '%s'", key);
    *ret = (uint32_t)v;
    return 0;
}

static bool is_host_word(const char *word)
{
    return strcmp(word, "node") == 0 || strcmp(word, "host") == 0 || strcmp(word, "n") == 0;
}

/* "4:node" */
static int take_ppr(struct wish *w, const char *key, const char *value, struct error *err)
{
    size_t n = strcspn(value, ":");
    if (!value[n] || !is_host_word(value + n + 1))
        return error_set(err, ENOTSUP, "info key '%s': '%s' is not supported; N:node is", key,
                         value);
    return per_host(key, value, n, &w->options.per_host, err);
}

static int take_npernode(struct wish *w, const char *key, const char *value, struct error *err)
{
    return per_host(key, value, strlen(value), &w->options.per_host, err);
}

static int take_map_by(struct wish *w, const char *key, const char *value, struct error *err)
{
    if (strncasecmp(value, "ppr:", 4) == 0)
        return take_ppr(w, key, value + 4, err);
    w->options.turn = w->options.numbers = is_host_word(value);
    if (w->options.turn || strcmp(value, "slot") == 0 || strcmp(value, "core") == 0)
        return 0;
    return error_set(err, ENOTSUP,
                     "info key '%s': '%s' is not supported; slot, core, node and ppr:N:node are",
                     key, value);
}

static int take_host(struct wish *w, const char *key, const char *value, struct error *err)
{
    w->has_names = true;
    return hostlist_parse(value, &w->named, err) < 0 ? error_context(err, "info key '%s'", key) : 0;
}

static int take_hostfile(struct wish *w, const char *key, const char *value, struct error *err)
{
    AUTO_FREE char *path = NULL;
    w->has_names = true;
    if (asprintf(&path, "%s%s%s", value[0] == '/' ? "" : w->directory, value[0] == '/' ? "" : "/",
                 value) < 0)
        return error_errno(err, ENOMEM, "info key '%s'", key);
    return hostfile_read(path, &w->named, err) < 0 ? error_context(err, "info key '%s'", key) : 0;
}

static int take_nothing(struct wish *w, const char *key, const char *value, struct error *err)
{
    return 0;
}

/* A step brings files before its ranks start, and gets no more hosts later. */
static int refuse_key(struct wish *w, const char *key, const char *value, struct error *err)
{
    if (strcmp(value, "false") == 0 || !*value)
        return 0;
    return error_set(err, ENOTSUP, "info key '%s' is not supported", key);
}

static const struct {
    const char *name;
    int (*take)(struct wish *w, const char *key, const char *value, struct error *err);
} keys[] = {
    {"host", take_host},           {"hosts", take_host},        {"hostfile", take_hostfile},
    {"map_by", take_map_by},       {"npernode", take_npernode}, {"ppr", take_ppr},
    {"ppn", take_npernode},        {"bind_to", take_nothing}, /* these: elsewhere */
    {"wdir", take_nothing},        {"path", take_nothing},      {"add-host", refuse_key},
    {"add-hostfile", refuse_key},  {"prefix", refuse_key},      {"preload_binary", refuse_key},
    {"preload_files", refuse_key}, {"soft", refuse_key},
};

/* MPI has it that a key that is not known is ignored. */
static int take_keys(struct wish *w, const Mprun__Spawn__App *app, struct error *err)
{
    for (size_t i = 0; i < app->n_keys; i++) {
        AUTO_FREE char *value = bytes_dup(&app->keys[i]->value);
        for (size_t k = 0; value && k < sizeof(keys) / sizeof(keys[0]); k++)
            if (strcmp(keys[k].name, app->keys[i]->name) == 0 &&
                keys[k].take(w, keys[k].name, value, err) < 0)
                return -1;
    }
    return 0;
}

static int take_binding(const Mprun__Spawn__App *app, struct binding_request *bind,
                        struct error *err)
{
    AUTO_FREE char *value = spawn_key(app, "bind_to");
    if (!value)
        return 0;
    if (strcmp(value, "none") == 0)
        bind->policy = BIND_NONE;
    else if (strcmp(value, "core") == 0)
        bind->policy = BIND_TO;
    else
        return error_set(err, ENOTSUP,
                         "info key 'bind_to': '%s' is not supported; core and none are", value);
    return 0;
}

/* ---- free slots ------------------------------------------------------------------------------ */

struct offer { /* hosts that can take ranks, as an allocation of their own */
    struct allocation alloc;
    uint32_t *index; /* of each, among the step's hosts */
};

static void offer_free(struct offer *o)
{
    free(o->alloc.hosts);
    free(o->index);
}

/* Slots that neither ranks of the step nor those placed now have. */
static uint32_t free_slots(const struct step_plan *p, const struct worlds *worlds, uint32_t host,
                           const struct rank_set *placed)
{
    uint64_t taken =
        worlds->busy[host] + (uint64_t)rank_set_count(placed) * binding_cores(&p->cmd->place.bind);
    uint32_t slots = p->used.hosts[host].slots.value;
    return taken < slots ? slots - (uint32_t)taken : 0;
}

static void add_host(struct offer *o, const struct alloc_host *h, uint32_t index, uint32_t slots,
                     const struct wish *w)
{
    struct alloc_host *to = &o->alloc.hosts[o->alloc.nhosts];
    const struct alloc_host *named = w->has_names ? hostlist_find(&w->named, h->name) : NULL;
    if (w->has_names && !named)
        return;
    *to = *h; /* borrowed */
    if (named && w->named.stated && named->slots.value < slots)
        slots = named->slots.value;
    to->slots.value = slots;
    to->max_slots = 0;
    snprintf(to->slots.source, sizeof(to->slots.source), "free of %u", h->slots.value);
    o->index[o->alloc.nhosts++] = index;
}

static int make_offer(const struct host_table *t, const struct worlds *worlds,
                      const struct rank_set *placed, const struct wish *w, struct offer *ret,
                      struct error *err)
{
    const struct step_plan *p = t->plan;
    *ret = (struct offer){.alloc.hosts = calloc(p->nused + 1, sizeof(*ret->alloc.hosts)),
                          .index = calloc(p->nused + 1, sizeof(*ret->index))};
    if (!ret->alloc.hosts || !ret->index)
        return error_errno(err, ENOMEM, "find free slots");
    for (uint32_t i = 0; i < p->nused; i++)
        if (host_is_reachable(t->used[i]))
            add_host(ret, &p->used.hosts[i], i, free_slots(p, worlds, i, &placed[i]), w);
    if (ret->alloc.nhosts)
        return 0;
    return error_set(err, EINVAL, "none of the hosts that are named is a host of this step");
}

static int check_names(const struct host_table *t, const struct wish *w, struct error *err)
{
    const struct allocation *named = &w->named.allocation;
    for (size_t i = 0; w->has_names && i < named->nhosts; i++) {
        bool is_there = false;
        for (size_t k = 0; k < t->plan->nused; k++)
            is_there |= strcmp(t->used[k]->name, named->hosts[i].name) == 0;
        if (!is_there)
            return error_set(err, EINVAL, "host '%s' is no host of this step",
                             named->hosts[i].name);
    }
    return 0;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The plan's ranks count from 0. */
static int take_plan(const struct plan *plan, const struct offer *o, uint32_t world, uint32_t first,
                     struct rank_set *hosts, struct error *err)
{
    for (size_t i = 0; i < plan->nhosts; i++)
        for (uint32_t k = 0; k < rank_set_count(&plan->hosts[i]); k++) {
            uint32_t rank = first + rank_set_at(&plan->hosts[i], k).rank;
            if (rank_set_add(&hosts[o->index[i]],
                             (struct rank_name){.world = world, .rank = rank}) < 0)
                return error_errno(err, errno, "place rank %u", rank);
        }
    return 0;
}

int spawn_place(const struct host_table *t, const struct worlds *worlds,
                const Mprun__Spawn__App *app, const char *directory, uint32_t world, uint32_t first,
                struct rank_set *ret_hosts, struct binding_request *bind, struct error *err)
{
    struct wish w = {.directory = directory,
                     .options = {.nranks = app->count,
                                 .cores = t->plan->cmd->place.bind.cores,
                                 .oversubscribe = t->plan->cmd->place.oversubscribe == 1}};
    struct offer o = {0};
    struct plan p = {0};
    int rc = -1;
    if (take_binding(app, bind, err) == 0 && take_keys(&w, app, err) == 0 &&
        check_names(t, &w, err) == 0 && make_offer(t, worlds, ret_hosts, &w, &o, err) == 0 &&
        plan(&o.alloc, &w.options, &p, err) == 0)
        rc = take_plan(&p, &o, world, first, ret_hosts, err);
    plan_free(&p);
    offer_free(&o);
    hostlist_free(&w.named);
    return rc;
}
