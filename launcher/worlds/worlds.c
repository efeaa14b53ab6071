/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/worlds/worlds.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "launcher/step/step-plan.h"

static uint32_t slots_each(const struct worlds *w)
{
    return binding_cores(&w->plan->cmd->place.bind);
}

static void free_world(struct world *world, size_t nhosts)
{
    for (size_t i = 0; world->ranks && i < nhosts; i++)
        rank_set_free(&world->ranks[i]);
    explicit_bzero(world->nspace, sizeof(world->nspace));
    free(world->ranks);
    free(world->left);
    rank_map_free(&world->map);
    if (world->number) {
        for (size_t i = 0; i < world->napps; i++)
            app_free(&world->apps[i]);
        free(world->apps);
    }
    free(world);
}

static void take_hosts(struct world *world, const struct rank_set *hosts, size_t nhosts)
{
    world->ranks = must(calloc(nhosts + 1, sizeof(*world->ranks)));
    world->left = must(calloc(nhosts + 1, sizeof(*world->left)));
    rank_map_create(&world->map, world->number, world->nranks);
    for (uint32_t i = 0; i < nhosts; i++) {
        must_do(rank_set_add_all(&world->ranks[i], &hosts[i]));
        must_do(rank_map_put(&world->map, &hosts[i], i, NULL));
    }
}

static struct world *add(struct worlds *w, uint32_t number, const struct rank_set *hosts,
                         uint32_t nranks)
{
    struct world *world = must(calloc(1, sizeof(*world)));
    world->number = number;
    world->nranks = nranks;
    take_hosts(world, hosts, w->plan->nused);
    for (size_t i = 0; i < w->plan->nused; i++) {
        world->left[i] = rank_set_count(&hosts[i]);
        w->busy[i] += world->left[i] * slots_each(w);
    }
    world->next = w->first;
    w->first = world;
    w->nranks += nranks;
    return world;
}

void worlds_init(struct worlds *w, const struct step_plan *plan)
{
    const struct step *s = &plan->step;
    AUTO_FREE struct rank_set *hosts = must(calloc(plan->nused + 1, sizeof(*hosts)));
    *w = (struct worlds){.plan = plan, .busy = must(calloc(plan->nused + 1, sizeof(*w->busy)))};
    for (size_t i = 0; i < plan->nused; i++)
        hosts[i] = plan->placements[i].ranks; /* borrowed */
    struct world *world = add(w, 0, hosts, s->nranks);
    strcpy(world->nspace, s->nspace);
    world->apps = s->apps;
    world->napps = s->napps;
    world->is_awaited = true;
}

void worlds_free(struct worlds *w)
{
    while (w->first) {
        struct world *world = w->first;
        w->first = world->next;
        free_world(world, w->plan->nused);
    }
    free(w->busy);
}

struct world *worlds_add(struct worlds *w, const struct rank_set *hosts, uint32_t nranks,
                         struct app *apps, size_t napps, const struct world *parent)
{
    struct world *world = add(w, w->last_number + 1, hosts, nranks);
    w->last_number++;
    step_plan_new_nspace(world->nspace);
    world->apps = apps;
    world->napps = napps;
    world->root = parent ? parent->root : world->number;
    return world;
}

void worlds_remove(struct worlds *w, struct world *world)
{
    struct world **at = &w->first;
    while (*at && *at != world)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = world->next;
    free_world(world, w->plan->nused);
}

struct world *worlds_find(const struct worlds *w, uint32_t number)
{
    struct world *world = w->first;
    while (world && world->number != number)
        world = world->next;
    return world;
}

int64_t worlds_host_of(const struct worlds *w, struct rank_name name)
{
    const struct world *world = worlds_find(w, name.world);
    return world ? rank_map_host(&world->map, name) : -1;
}

void worlds_rank_known(struct worlds *w, struct rank_name name)
{
    struct world *world = worlds_find(w, name.world);
    if (world)
        world->known++;
}

void worlds_mark_told(struct worlds *w, uint32_t number)
{
    struct world *world = worlds_find(w, number);
    if (world)
        world->is_told = true;
}

void worlds_rank_ended(struct worlds *w, struct rank_name name)
{
    struct world *world = worlds_find(w, name.world);
    int64_t host = worlds_host_of(w, name);
    if (!world || host < 0)
        return;
    world->ended++;
    if (--world->left[host] == 0)
        w->busy[host] -= rank_set_count(&world->ranks[host]) * slots_each(w);
}
