/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/worlds/spawn-place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "launcher/cmdline/cmdline.h"
#include "launcher/hosts/host-links.h"
#include "launcher/step/step-placement.h"
#include "launcher/worlds/offer.h"
#include "launcher/worlds/worlds.h"
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
    struct placement_options place;
    struct hostlist named; /* with no host: all */
    bool has_names;
    bool has_binding;
    const char *directory; /* for relative names of files */
};

static int take_npernode(struct wish *w, const char *key, const char *value, struct error *err)
{
    int64_t v;
    if (number_parse(value, key, 1, CMDLINE_RANKS_MAX, &v, err) < 0)
        return error_context(err, "info key '%s'", key);
    w->place.per_host = (uint32_t)v;
    return 0;
}

/* What --map-by takes. A step's hosts are fixed, and so is what holds for all of its ranks. */
static int take_map_by(struct wish *w, const char *key, const char *value, struct error *err)
{
    struct placement_options *p = &w->place;
    if (placement_map_by(p, value, err) < 0)
        return error_context(err, "info key '%s'", key);
    w->has_binding |= p->bind.map != LEVEL_NONE || p->bind.list_kind != CPU_LIST_NONE ||
                      p->bind.threads || p->bind.cores;
    if (p->in_sequence || p->no_local)
        return error_set(err, ENOTSUP, "info key '%s': '%s' is not supported", key, value);
    return 0;
}

/* "4:node" */
static int take_ppr(struct wish *w, const char *key, const char *value, struct error *err)
{
    char how[80];
    snprintf(how, sizeof(how), "ppr:%.60s", value);
    return take_map_by(w, key, how, err);
}

static int take_bind_to(struct wish *w, const char *key, const char *value, struct error *err)
{
    w->has_binding = true;
    return placement_bind_to(&w->place.bind, value, err) < 0
               ? error_context(err, "info key '%s'", key)
               : 0;
}

static int take_host(struct wish *w, const char *key, const char *value, struct error *err)
{
    w->has_names = true;
    return hostlist_parse(value, &w->named, err) < 0 ? error_context(err, "info key '%s'", key) : 0;
}

static int take_hostfile(struct wish *w, const char *key, const char *value, struct error *err)
{
    bool is_absolute = value[0] == '/';
    AUTO_FREE char *path =
        text_format("%s%s%s", is_absolute ? "" : w->directory, is_absolute ? "" : "/", value);
    w->has_names = true;
    return hostfile_read(path, &w->named, err) < 0 ? error_context(err, "info key '%s'", key) : 0;
}

static int take_nothing(struct wish *w, const char *key, const char *value, struct error *err)
{
    return 0;
}

/* A step gets no more hosts later. */
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
    {"host", take_host},      {"hosts", take_host},         {"hostfile", take_hostfile},
    {"map_by", take_map_by},  {"npernode", take_npernode},  {"ppr", take_ppr},
    {"ppn", take_npernode},   {"bind_to", take_bind_to},    {"wdir", take_nothing},
    {"path", take_nothing},   /* elsewhere */
    {"prefix", take_nothing}, /* where the MPI is: programs know */
    {"add-host", refuse_key}, {"add-hostfile", refuse_key}, {"soft", refuse_key},
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

/* ---- free slots ------------------------------------------------------------------------------ */

/* Slots that ranks of the step or those placed now have. */
static uint64_t taken_slots(const struct step_plan *p, const struct worlds *worlds, uint32_t host,
                            const struct rank_set *placed)
{
    return worlds->busy[host] +
           (uint64_t)rank_set_count(placed) * binding_cores(&p->cmd->place.bind);
}

static int make_offer(const struct host_table *t, const struct worlds *worlds,
                      const struct rank_set *placed, const struct wish *w, struct offer *ret,
                      struct error *err)
{
    const struct step_plan *p = t->plan;
    offer_create(ret, p->nused);
    for (uint32_t i = 0; i < p->nused; i++)
        if (host_is_reachable(t->used[i]))
            offer_add(ret, &p->used.hosts[i], i, taken_slots(p, worlds, i, &placed[i]),
                      w->has_names ? &w->named : NULL);
    if (ret->alloc.nhosts)
        return 0;
    return error_set(err, EINVAL, "none of the hosts that are named is a host of this step");
}

/* The step has too few hosts or slots, and the job has more. Returns -1. */
static int advise(const struct step_plan *p, struct error *err)
{
    char text[sizeof(err->text)];
    if (p->nused == p->nhosts)
        return -1;
    snprintf(text, sizeof(text), "%s", err->text);
    return error_set(err, err->code, "%s; with --universe N the step has further hosts of the job",
                     text);
}

static int check_names(const struct host_table *t, const struct wish *w, struct error *err)
{
    const struct allocation *named = &w->named.allocation;
    for (size_t i = 0; w->has_names && i < named->nhosts; i++) {
        bool is_there = false;
        for (size_t k = 0; k < t->plan->nused; k++)
            is_there |= strcmp(t->used[k]->name, named->hosts[i].name) == 0;
        if (!is_there) {
            error_set(err, EINVAL, "host '%s' is no host of this step", named->hosts[i].name);
            return advise(t->plan, err);
        }
    }
    return 0;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The binding of a program that says nothing is the step's. */
static void take_binding(const struct wish *w, struct app *app)
{
    if (!w->has_binding)
        return;
    app->bind = must(malloc(sizeof(*app->bind)));
    *app->bind = step_placement_binding(&w->place);
}

/* As many commands of a queue run at once as there are slots for, whatever the line says; one that
 * has more ranks than slots, as the first had, runs alone. */
static bool may_command_oversubscribe(const struct step_plan *p, const struct worlds *worlds)
{
    for (uint32_t i = 0; i < p->nused; i++)
        if (worlds->busy[i])
            return false;
    return p->placement.oversubscribed;
}

int spawn_place(const struct host_table *t, const struct worlds *worlds,
                const Mprun__Spawn__App *app, const char *directory, uint32_t world, uint32_t first,
                struct rank_set *ret_hosts, struct app *ret_app, struct error *err)
{
    const struct placement_options *step = &t->plan->cmd->place;
    struct wish w = {.directory = directory, .place = {.oversubscribe = -1}};
    struct plan_options o;
    struct offer offer = {.index = NULL};
    int rc = -1;
    if (!directory)
        w.place = *step;
    w.place.bind = t->plan->step.bind;
    w.place.bind.cores = 0;
    if (take_keys(&w, app, err) == 0 && check_names(t, &w, err) == 0 &&
        make_offer(t, worlds, ret_hosts, &w, &offer, err) == 0 &&
        step_placement_options(t->plan, &w.place, &o, err) == 0) {
        if (!w.place.bind.cores) {
            o.cores = step->bind.cores;
            w.place.bind.cores = t->plan->step.bind.cores;
        }
        o.nranks = app->count;
        o.world = world;
        if (!directory)
            o.oversubscribe = may_command_oversubscribe(t->plan, worlds);
        else if (o.oversubscribe < 0)
            o.oversubscribe = step->oversubscribe == 1;
        rc = offer_place(&offer, &o, first, ret_hosts, err);
        if (rc < 0)
            advise(t->plan, err);
    }
    if (rc == 0)
        take_binding(&w, ret_app);
    offer_free(&offer);
    hostlist_free(&w.named);
    return rc;
}
