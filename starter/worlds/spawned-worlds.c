/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/worlds/spawned-worlds.h"

#include <errno.h>
#include <stdlib.h>

#include "common/must.h"
#include "common/text/words.h"
#include "model/rank-end.h"
#include "starter/binding/gpu-shares.h"
#include "starter/binding/rank-binding.h"
#include "starter/ending/step-end.h"
#include "starter/host-directories.h"
#include "starter/pmi/pmi-server.h"
#include "starter/preload/preload.h"
#include "starter/ranks/ranks.h"
#include "starter/services.h"
#include "starter/tunables.h"
#include "starter/usage/usage-reports.h"
#include "wire/messages/launch.h"

struct spawned_world {
    struct spawned_world *next;
    struct starter_services with; /* the host's, with what follows here */
    struct launch launch;
    struct brought brought;
    struct rank_binding binding;
    struct gpu_shares gpus;
    struct ranks ranks;
    bool is_prepared; /* its ranks may be started */
    bool has_ended;   /* WORLD_END has come */
    bool has_reported;
};

static void add_to_list(struct ranks *first, struct ranks *r)
{
    while (first->next)
        first = first->next;
    first->next = r;
}

static void take_from_list(struct ranks *first, struct ranks *r)
{
    struct ranks *before = first;
    while (before && before->next != r)
        before = before->next;
    if (!before)
        return;
    before->next = r->next;
    r->next = NULL;
    first->freed_cpu += ranks_ended_cpu(r);
}

static void free_world(struct spawned_worlds *all, struct spawned_world *w)
{
    if (w->ranks.with) { /* not set if the world's beginning has failed */
        take_from_list(all->with->ranks, &w->ranks);
        ranks_free(&w->ranks);
    }
    gpu_shares_free(&w->gpus);
    rank_binding_free(&w->binding);
    brought_remove(&w->brought, w->with.directories->main.path);
    brought_free(&w->brought);
    words_free(w->with.pmi_env);
    launch_free(&w->launch);
    free(w);
}

static struct spawned_world *find(const struct spawned_worlds *all, uint32_t world)
{
    struct spawned_world *w = all->first;
    while (w && w->launch.world != world)
        w = w->next;
    return w;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Gives back cores and GPUs of worlds whose ranks have all ended here. One that has failed may
 * start again until mprun says that the world has ended, which it does not say of the first. */
static void free_parts(struct spawned_worlds *all)
{
    if (ranks_of_world_have_ended(all->with->ranks)) {
        rank_binding_end(all->with->binding);
        gpu_shares_give_back(all->with->gpus);
    }
    for (struct spawned_world *w = all->first; w; w = w->next)
        if (w->has_ended || ranks_of_world_have_ended_well(&w->ranks)) {
            rank_binding_end(&w->binding);
            gpu_shares_give_back(&w->gpus);
        }
}

static int begin(struct spawned_worlds *all, struct spawned_world *w, struct error *err)
{
    w->with.launch = &w->launch;
    w->with.binding = &w->binding;
    w->with.gpus = &w->gpus;
    w->with.ranks = &w->ranks;
    w->with.pmi_env = NULL;
    if (w->with.pmi && pmi_server_has_ended(w->with.pmi))
        return error_set(err, ECONNRESET, "the PMI server has ended");
    free_parts(all);
    if (rank_binding_choose_more(&w->binding, &w->launch, all->with->binding, all->with->keeper_fd,
                                 err) < 0 ||
        gpu_shares_choose_more(&w->gpus, &w->launch, &w->binding, all->with->gpus, err) < 0)
        return -1;
    ranks_init(&w->ranks, &w->with);
    return 0;
}

static void prepare(struct spawned_world *w)
{
    if (w->brought.programs)
        w->with.brought = &w->brought;
    ranks_prepare(&w->ranks);
    w->is_prepared = true;
}

void spawned_worlds_launch(struct spawned_worlds *all, const uint8_t *launch, size_t n,
                           uint32_t host_id)
{
    struct error e;
    struct spawned_world *w = must(calloc(1, sizeof(*w)));
    w->with = *all->with;
    int rc = launch_unpack(launch, n, host_id, &w->launch, &e);
    if (rc == 0)
        rc = begin(all, w, &e);
    w->next = all->first;
    all->first = w;
    if (rc == 0) {
        add_to_list(all->with->ranks, &w->ranks);
        if (preload_install(w->with.preload, &w->with, &w->brought, &e) < 0)
            ranks_refuse(&w->ranks, &e);
        else if (w->with.pmi)
            pmi_server_add_world(w->with.pmi, &w->with);
        else
            prepare(w);
    } else {
        error_context(&e, "start world %u on %s", w->launch.world, all->with->hostname);
        step_end_cannot_run(all->with->end, EXIT_CODE_MPRUN, e.text);
    }
}

void spawned_worlds_ready(struct spawned_worlds *all, uint32_t world, char **env)
{
    struct spawned_world *w = find(all, world);
    if (!w || w->with.pmi_env) {
        words_free(env);
        return;
    }
    w->with.pmi_env = env;
    prepare(w);
}

void spawned_worlds_turn(struct spawned_worlds *all)
{
    for (struct spawned_world *w = all->first; w; w = w->next)
        if (w->is_prepared && ranks_start_some(&w->ranks))
            loop_defer_schedule(all->with->turn);
}

/* ---- ending ---------------------------------------------------------------------------------- */

void spawned_worlds_kill(struct spawned_worlds *all, uint32_t world)
{
    struct spawned_world *w = find(all, world);
    if (w)
        ranks_kill_all(&w->ranks);
}

/* Kills what the world has left behind. Returns false while something is left. */
static bool clear(struct spawned_world *w)
{
    if (!ranks_kill_leftovers(&w->ranks))
        return false;
    if (!w->has_reported)
        usage_world_report_send(&w->with);
    w->has_reported = true;
    return ranks_remove_leaves(&w->ranks);
}

static void clear_all(void *arg)
{
    struct spawned_worlds *all = arg;
    bool any = false;
    for (struct spawned_world **at = &all->first; *at;) {
        struct spawned_world *w = *at;
        if (!w->has_ended || !clear(w)) {
            any |= w->has_ended;
            at = &w->next;
            continue;
        }
        *at = w->next;
        free_world(all, w);
    }
    if (any)
        loop_timer_start(&all->again, LEFTOVERS_PERIOD_SECONDS, 0);
}

void spawned_worlds_end(struct spawned_worlds *all, uint32_t world)
{
    struct spawned_world *w = find(all, world);
    if (!w || all->is_stopped)
        return;
    w->has_ended = true;
    clear_all(all);
}

void spawned_worlds_init(struct spawned_worlds *all, const struct starter_services *with)
{
    all->with = with;
    loop_timer_init(&all->again, with->loop, clear_all, all);
}

void spawned_worlds_stop(struct spawned_worlds *all)
{
    all->is_stopped = true;
    loop_timer_stop(&all->again);
}

void spawned_worlds_free(struct spawned_worlds *all)
{
    loop_timer_stop(&all->again);
    while (all->first) {
        struct spawned_world *w = all->first;
        all->first = w->next;
        free_world(all, w);
    }
}
