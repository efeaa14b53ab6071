/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-restart.c - a rank that has failed is started again (--max-restarts)
 *
 * mprun decides, and names the next incarnation, which has a cgroup of its own. First this kills
 * what the incarnation before has left in its cgroup; only then is that one's usage final. */
#include "starter/ending/step-end.h"
#include "starter/ranks/ranks-private.h"
#include "starter/tunables.h"
#include "starter/usage/usage-reports.h"

/* Returns false while the rank has processes, or its cgroup still exists. */
static bool has_left_nothing(struct rank *r)
{
    if (!r->leaf)
        return true;
    if (!rank_kill_leftovers(r))
        return false;
    rank_read_cgroup_usage(r); /* of what it has left behind, too */
    return rank_remove_leaf(r);
}

static void become_next(struct rank *r)
{
    struct rank_name name = r->name;
    usage_rank_report_send(r->all, r->local);
    r->all->freed_cpu += r->usage.value[USAGE_CPU_USER] + r->usage.value[USAGE_CPU_SYSTEM];
    r->all->nagain--;
    rank_free(r);
    name.incarnation++;
    *r = (struct rank){.all = r->all, .name = name, .local = r->local, .app = r->app, .io_fd = -1};
}

static void look_at(struct rank *r, bool is_ending)
{
    if (!is_ending && !has_left_nothing(r))
        return;
    become_next(r);
    if (is_ending)
        rank_end_killed(r);
    else
        rank_start(r);
}

void ranks_start_again(struct ranks *all)
{
    for (struct ranks *s = all; s; s = s->next) {
        for (uint32_t i = 0; i < s->n && s->nagain; i++)
            if (s->ranks[i].state == RANK_AGAIN)
                look_at(&s->ranks[i], s->is_killed || s->with->end->has_begun);
        if (s->nagain && !loop_timer_is_active(&s->again))
            loop_timer_start(&s->again, LEFTOVERS_PERIOD_SECONDS, 0);
    }
}

int ranks_restart(struct ranks *all, struct rank_name name)
{
    struct rank *r = ranks_find(all, name);
    if (!r || r->state != RANK_ENDED || name.incarnation != r->name.incarnation + 1)
        return -1;
    r->state = RANK_AGAIN;
    r->all->ended--;
    r->all->nagain++;
    if (r->all->with->end->has_begun)
        ranks_start_again(r->all);
    return 0;
}
