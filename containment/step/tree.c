/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c - a writable cgroup2 mount tracks the ranks, even without controllers; v1 then serves only
 * for limits that v2 cannot set here. On a machine with v1 alone the freezer tracks, because it can
 * kill, and cpuacct counts. */
#include "containment/step/tree-private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "containment/tunables.h"

/* ---- which hierarchies ----------------------------------------------------------------------- */

/* Returns our controllers that are mounted together with c, at the same place. */
static unsigned mounted_together(const struct cgroup_parents *p, size_t c)
{
    unsigned set = 0;
    for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        if (p->v1[i] && !strcmp(p->v1[i], p->v1[c])) {
            if (i < c)
                return 0; /* seen already */
            set |= CGROUP_BIT(i);
        }
    return set;
}

/* Adds a hierarchy; does not make its directories yet. */
static struct hierarchy *add_hierarchy(struct cgroup_tree *t, const struct cgroup_driver *driver,
                                       const char *parent, unsigned available)
{
    struct hierarchy *h = &t->h[t->nh];
    hierarchy_init(h, driver, parent, available, t->name);
    t->paths[t->nh++] = h->top;
    return h;
}

static void collect_hierarchies(struct cgroup_tree *t, const struct cgroup_parents *p)
{
    unsigned wanted = CGROUP_LIMITS;
    static const enum cgroup_controller late[] = {CGROUP_CPUSET, CGROUP_DEVICES};
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
        if (p->v1[late[i]])
            t->v1_late[late[i]] = must(strdup(p->v1[late[i]]));
    if (p->v2) {
        t->v2_offers = p->v2_controllers;
        add_hierarchy(t, &cgroup_driver_v2, p->v2, p->v2_controllers & CGROUP_LIMITS);
        wanted &= ~p->v2_controllers;
        if (p->v2_why)
            t->why_no_limits = must(strdup(p->v2_why));
    } else {
        wanted |= CGROUP_BIT(CGROUP_FREEZER) | CGROUP_BIT(CGROUP_CPU);
    }
    for (size_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
        unsigned together = p->v1[c] ? mounted_together(p, c) : 0;
        if (together & wanted)
            add_hierarchy(t, &cgroup_driver_v1, p->v1[c], together);
    }
}

struct hierarchy *tree_v1_hierarchy(struct cgroup_tree *t, enum cgroup_controller c)
{
    for (size_t i = 0; i < t->nh; i++)
        if (t->h[i].driver->version == 1 && (t->h[i].available & CGROUP_BIT(c)))
            return &t->h[i];
    return NULL;
}

struct hierarchy *tree_make_v1(struct cgroup_tree *t, enum cgroup_controller c, struct error *err)
{
    struct hierarchy *h = tree_v1_hierarchy(t, c);
    if (!h && !t->v1_late[c]) {
        error_set(err, ENOTSUP, "no cgroup that can be made here has the controller %s",
                  cgroup_controller_text(c));
        return NULL;
    }
    if (!h)
        h = add_hierarchy(t, &cgroup_driver_v1, t->v1_late[c], CGROUP_BIT(c));
    bool is_made =
        hierarchy_made(h) || hierarchy_make(h, NULL, 0, t->level == TRACK_RANK, err) == 0;
    return is_made ? h : NULL;
}

/* Chooses the hierarchy that tracks ranks, and on v1 the one that counts CPU time. */
static int choose_tracker(struct cgroup_tree *t, struct error *err)
{
    static const enum cgroup_controller order[] = {CGROUP_FREEZER, CGROUP_CPU, CGROUP_PIDS,
                                                   CGROUP_MEMORY};
    if (t->nh == 0)
        return error_set(err, ENOTSUP, "track ranks by cgroup: no hierarchy here can");
    if (t->h[0].driver->version == 2) {
        t->track = 0;
        t->h[0].every_rank = true;
        return 0;
    }
    struct hierarchy *found = NULL, *cpu = tree_v1_hierarchy(t, CGROUP_CPU);
    for (size_t i = 0; !found && i < sizeof(order) / sizeof(order[0]); i++)
        found = tree_v1_hierarchy(t, order[i]);
    t->track = found ? (size_t)(found - t->h) : 0;
    t->h[t->track].every_rank = true;
    if (cpu)
        cpu->every_rank = true;
    return 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool needs_now(const struct hierarchy *h, const struct limits *l)
{
    return h->every_rank || (h->available & cgroup_limits_controllers(l));
}

static int make_hierarchies(struct cgroup_tree *t, const struct cgroup_parents *p,
                            struct error *err)
{
    for (size_t i = 0; i < t->nh; i++) {
        struct hierarchy *h = &t->h[i];
        bool v2 = h->driver->version == 2;
        if (!needs_now(h, &t->limits))
            continue;
        /* v1 counts a kill only in the process's own cgroup: so a leaf tells which rank it was */
        if (t->limits.memory.set && (h->available & CGROUP_BIT(CGROUP_MEMORY)))
            h->every_rank = true;
        if (hierarchy_make(h, v2 ? p->v2_movers : NULL, v2 ? p->nv2_movers : 0,
                           t->level == TRACK_RANK, err) < 0)
            return -1;
        /* the starter's processes are in top, too: their memory counts, but not their number */
        unsigned of_ranks = CGROUP_BIT(CGROUP_PIDS);
        cgroup_limit(h->driver, hierarchy_top(h), h->controllers & ~of_ranks, &t->limits);
        cgroup_limit(h->driver, hierarchy_ranks(h), h->controllers & of_ranks, &t->limits);
    }
    return 0;
}

static bool is_step_id(const char *id)
{
    size_t len = strlen(id);
    return len > 0 && len < CGROUP_NAME_MAX - sizeof(CGROUP_STEP_PREFIX) &&
           strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

struct cgroup_tree *cgroup_tree_create(struct loop *l, const struct cgroup_parents *parents,
                                       const char *step_id, enum tracking level,
                                       struct limits *host_limits, struct error *err)
{
    if (!is_step_id(step_id) || (level != TRACK_RANK && level != TRACK_STEP)) {
        error_set(err, EINVAL, "make the cgroup of step '%s': not a step's name", step_id);
        return NULL;
    }
    struct cgroup_tree *t = must(malloc(sizeof(*t)));
    *t = (struct cgroup_tree){.loop = l, .level = level, .empty.watch = -1};
    snprintf(t->name, sizeof(t->name), CGROUP_STEP_PREFIX "%s", step_id);
    freezer_init(t);
    collect_hierarchies(t, parents);
    if (host_limits)
        t->limits = *host_limits;
    limits_forget_holders(&t->limits);
    if (choose_tracker(t, err) < 0 || make_hierarchies(t, parents, err) < 0) {
        int saved = errno;
        (void)cgroup_tree_remove(t, NULL);
        cgroup_tree_destroy(t);
        errno = saved;
        return NULL;
    }
    if (host_limits)
        *host_limits = t->limits;
    return t;
}

/* ---- what it is ------------------------------------------------------------------------------ */

/* v2 is the first of the hierarchies where it is used. */
const char *cgroup_tree_kind(const struct cgroup_tree *t)
{
    if (t->h[0].driver->version == 1)
        return "v1";
    return t->nh > 1 ? "hybrid" : "v2";
}

/* The list includes hierarchies that may still be made for the first rank with a limit: the
 * sweeping program cannot be told later, and a path that does not exist costs nothing. */
size_t cgroup_tree_paths(const struct cgroup_tree *t, const char *const **ret)
{
    *ret = t->paths;
    return t->nh;
}

unsigned cgroup_tree_controllers(const struct cgroup_tree *t)
{
    unsigned can = 0;
    if (t->level != TRACK_RANK)
        return 0;
    for (size_t i = 0; i < t->nh; i++)
        can |= hierarchy_made(&t->h[i]) ? t->h[i].for_ranks : t->h[i].available;
    return can & CGROUP_LIMITS; /* v1 also counts and freezes by controllers, but limits nothing by
                                   them */
}

const char *cgroup_tree_why_no_limits(const struct cgroup_tree *t)
{
    int can = cgroup_tree_controllers(t) == CGROUP_LIMITS;
    return t->why_no_limits && !can ? t->why_no_limits : "";
}

int cgroup_tree_send_home(struct cgroup_tree *t, pid_t pid, struct error *err)
{
    for (size_t i = 0; i < t->nh; i++)
        if (hierarchy_made(&t->h[i]) && hierarchy_send_home(&t->h[i], pid, err) < 0)
            return -1;
    return 0;
}

void cgroup_tree_kill_one(struct cgroup_tree *t)
{
    t->kills_one = true;
}

void cgroup_tree_describe(struct cgroup_tree *t, char *buf, size_t n)
{
    at_describe(hierarchy_ranks(tree_tracker(t)), buf, n);
}

/* ---- killing --------------------------------------------------------------------------------- */

int cgroup_tree_kill(struct cgroup_tree *t, struct error *err)
{
    const struct hierarchy *h = tree_tracker(t);
    loop_timer_stop(&t->freezer.timer);
    if (killer_start(&t->killer, t->loop, hierarchy_ranks(h), h->driver, err) < 0)
        return error_context(err, "kill what is in '%s'", h->ranks);
    return 0;
}

/* ---- until it is empty ----------------------------------------------------------------------- */

static void empty_tell(void *arg)
{
    struct cgroup_tree *t = arg;
    void (*fn)(void *) = t->empty.fn;
    void *fn_arg = t->empty.arg;
    empty_wait_stop(t);
    if (fn)
        fn(fn_arg);
}

/* A directory that does not exist has no processes either. */
bool cgroup_tree_is_empty(struct cgroup_tree *t)
{
    const struct hierarchy *h = tree_tracker(t);
    int populated = h->driver->populated(hierarchy_ranks(h));
    /* ENODEV: it was removed between open and read */
    return populated == 0 || (populated < 0 && (errno == ENOENT || errno == ENODEV));
}

static void look_again_later(struct empty_wait *e)
{
    loop_timer_start(&e->timer, e->delay, 0);
    e->delay = e->delay * 2 < POLICY_EMPTY_LAST_S ? e->delay * 2 : POLICY_EMPTY_LAST_S;
}

static void empty_check(void *arg)
{
    struct cgroup_tree *t = arg;
    if (cgroup_tree_is_empty(t))
        empty_tell(t);
    else if (t->empty.watch < 0)
        look_again_later(&t->empty);
}

static int watch_populated(struct cgroup_tree *t)
{
    const struct hierarchy *h = tree_tracker(t);
    char path[CGROUP_PATH_MAX];
    struct watches *w = h->driver->version == 2 ? tree_watches(t) : NULL;
    if (!w || snprintf(path, sizeof(path), "%s/cgroup.events", h->ranks) >= (int)sizeof(path))
        return -1;
    return watches_add(w, path, empty_check, t);
}

int cgroup_tree_wait_empty(struct cgroup_tree *t, void (*fn)(void *arg), void *arg,
                           struct error *err)
{
    struct empty_wait *e = &t->empty;
    if (e->fn)
        return error_set(err, EALREADY, "wait for cgroup '%s' to empty: already waiting",
                         tree_tracker(t)->ranks);
    loop_timer_init(&e->timer, t->loop, empty_check, t);
    loop_defer_init(&e->defer, t->loop, empty_tell, t);
    e->fn = fn;
    e->arg = arg;
    e->delay = POLICY_EMPTY_FIRST_S;
    e->watch = watch_populated(t);
    if (cgroup_tree_is_empty(t)) /* by the loop, never from inside this call */
        loop_defer_schedule(&e->defer);
    else if (e->watch < 0)
        look_again_later(e);
    return 0;
}

void empty_wait_stop(struct cgroup_tree *t)
{
    struct empty_wait *e = &t->empty;
    if (e->watch >= 0 && t->watches)
        watches_remove(t->watches, e->watch);
    loop_timer_stop(&e->timer);
    loop_defer_stop(&e->defer);
    *e = (struct empty_wait){.watch = -1};
}

/* ---- the end --------------------------------------------------------------------------------- */

int cgroup_tree_remove(struct cgroup_tree *t, struct error *err)
{
    for (struct cgroup_leaf *leaf = t->leaves, *next; leaf; leaf = next) {
        next = leaf->next;
        if (cgroup_leaf_remove(leaf, err) < 0)
            return -1;
    }
    for (size_t i = t->nh; i-- > 0;)
        if (hierarchy_remove(&t->h[i], err) < 0)
            return -1;
    return 0;
}

void cgroup_tree_destroy(struct cgroup_tree *t)
{
    if (!t)
        return;
    int saved = errno;
    empty_wait_stop(t);
    while (t->leaves)
        leaf_free(t->leaves);
    killer_stop(&t->killer);
    loop_timer_stop(&t->freezer.timer);
    watches_destroy(t->watches);
    for (size_t i = 0; i < t->nh; i++)
        hierarchy_free(&t->h[i]);
    free(t->why_no_limits);
    for (size_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        free(t->v1_late[c]);
    free(t);
    errno = saved;
}
