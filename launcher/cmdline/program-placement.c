/* SPDX-License-Identifier: BSD-3-Clause */
/* program-placement.c - hosts and cores that one program of several has to itself */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "launcher/cmdline/cmdline-private.h"

static bool has_gpus(const struct placement_options *p)
{
    return p->bind.gpus || p->bind.gpu_sharers;
}

static void take_gpus(struct placement_options *to, const struct placement_options *from)
{
    to->bind.gpus = from->bind.gpus;
    to->bind.gpu_sharers = from->bind.gpu_sharers;
}

/* A program has the options of the step where it says nothing itself; GPUs are not inherited. */
static void inherit(struct placement_options *own, const struct placement_options *step)
{
    const struct placement_options said = *own;
    *own = *step;
    own->says_map |= said.says_map;
    own->says_bind |= said.says_bind;
    own->says_memory |= said.says_memory;
    if (said.says_map) {
        own->per_host = said.per_host;
        own->turn = said.turn;
        own->even = said.even;
        own->packs = said.packs;
        own->span = said.span;
        own->by_core = said.by_core;
        own->bind.map = said.bind.map;
        own->bind.ppr = said.bind.ppr;
        own->bind.threads = said.bind.threads;
        own->bind.cores = said.bind.cores ? said.bind.cores : step->bind.cores;
        own->bind.set_ranks = said.bind.set_ranks;
        own->bind.set_cores = said.bind.set_cores;
        own->bind.set_turn = said.bind.set_turn;
        own->bind.by_threads = said.bind.cores ? said.bind.by_threads : step->bind.by_threads;
    }
    take_gpus(own, &said);
    if (said.says_memory) {
        own->bind.memory = said.bind.memory;
        memcpy(own->bind.memory_nodes, said.bind.memory_nodes, sizeof(own->bind.memory_nodes));
    }
    if (said.says_bind || said.bind.list_kind != CPU_LIST_NONE) {
        own->bind.policy = said.bind.policy;
        own->bind.to = said.bind.to;
        own->bind.overload = said.bind.overload;
        own->bind.if_supported = said.bind.if_supported;
        own->bind.list_kind = said.bind.list_kind;
        memcpy(own->bind.list, said.bind.list, sizeof(own->bind.list));
    }
}

static int check_own(const struct placement_options *own, const struct placement_options *step,
                     struct error *err)
{
    const char *of_step = own->in_sequence          ? "'--map-by seq'"
                          : own->needs_rank_file    ? "'--map-by rankfile'"
                          : own->no_local           ? "'nolocal'"
                          : own->oversubscribe >= 0 ? "'oversubscribe'"
                                                    : NULL;
    if (of_step)
        return error_set(err, EINVAL,
                         "%s holds for the whole step; put it before the first program", of_step);
    if (step->in_sequence || step->rank_file)
        return error_set(
            err, EINVAL,
            "%s says where the ranks of all programs run; leave out what this program says of it",
            step->rank_file ? "the rank file" : "'--map-by seq'");
    return 0;
}

int cmdline_take_own_place(struct cmdline *c, const struct placement_options *step, size_t before,
                           struct error *err)
{
    struct cmdline_app *app = c->reading.app;
    struct placement_options *own = &c->place;
    app->first_list = before;
    app->nlists = c->hosts.nlists - before;
    c->own_hosts |= app->nlists > 0;
    bool says = own->says_map || own->says_bind || own->says_memory || has_gpus(own) ||
                own->bind.list_kind != CPU_LIST_NONE;
    if ((says || app->nlists) && check_own(own, step, err) < 0)
        return error_context(err, "program %zu of the line", c->napps);
    if (!has_gpus(own))
        take_gpus(own, &c->reading.file_place);
    bool differs = has_gpus(step) && !has_gpus(own) && !step->in_sequence && !step->rank_file;
    if (!says && !differs)
        return 0;
    app->said_place = must(malloc(sizeof(*app->said_place)));
    *app->said_place = *own;
    inherit(own, step);
    app->place = must(malloc(sizeof(*app->place)));
    *app->place = *own;
    return 0;
}

void cmdline_inherit_settings(struct cmdline *c)
{
    for (struct cmdline_app *app = c->apps; app < c->apps + c->napps; app++) {
        if (app->place) {
            *app->place = *app->said_place;
            inherit(app->place, &c->place);
        }
        for (int k = 0; app->limits && k < LIMIT_KIND_COUNT; k++)
            if (!app->limits->of[k].set)
                app->limits->of[k] = c->step.rank_limits.of[k];
    }
}
