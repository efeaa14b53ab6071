/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/contain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "starter/rm-tracking.h"

static void try_next_source(struct contain *c);

static void finish(struct contain *c, const struct error *err)
{
    c->active = 0;
    c->done = err == NULL;
    c->fn(c->arg, err);
}

static const char *why_no_limits(const struct contain *c)
{
    return c->reason[0] || !c->tree ? c->reason : cgroup_tree_why_no_limits(c->tree);
}

static int refuse_limit(const struct contain *c, const char *option, const struct limit *l,
                        struct error *err)
{
    char size[16];
    const char *way = c->level == TRACK_RM /* nothing that would take them out of the job */
                          ? "ask the resource manager for a limit of the job instead"
                          : "run where a cgroup with the memory controller may be made, as in "
                            "`systemd-run --user --scope -p Delegate=yes mprun ...`";
    return error_set(err, ENOTSUP,
                     "%s %s: nothing on this host can hold this limit (%s); leave the option out, "
                     "or %s",
                     option, size_format(l->value, size, sizeof(size)), why_no_limits(c), way);
}

/* What was asked for against what was reached. */
static int check(const struct contain *c, struct error *err)
{
    const struct containment_request *r = &c->step->containment;
    unsigned have = c->tree ? cgroup_tree_controllers(c->tree) : 0;
    if (r->tracking_set && c->level > r->tracking)
        return error_set(err, ENOTSUP, "--containment=%s: this host can only give '%s': %s",
                         tracking_text(r->tracking), tracking_text(c->level), c->reason);
    if (c->host_limits.memory.set && c->host_limits.memory.held_by == HELD_BY_NONE)
        return refuse_limit(c, "--mem", &c->host_limits.memory, err);
    if (c->rank_limits.memory.set && !(have & (1u << CGROUP_MEMORY)))
        return refuse_limit(c, "--mem-per-rank", &c->rank_limits.memory, err);
    const struct {
        int wanted;
        enum cgroup_controller controller;
    } needs[] = {{r->memory, CGROUP_MEMORY}, {r->pids, CGROUP_PIDS}};
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].wanted && !(have & (1u << needs[i].controller)))
            return error_set(err, ENOTSUP,
                             "--containment=...,%s: no cgroup of this host can hold it (%s)",
                             cgroup_controller_text(needs[i].controller), why_no_limits(c));
    if (r->devices)
        return error_set(err, ENOTSUP,
                         "--containment=...,devices: mprun does not hold ranks to devices; leave "
                         "'devices' out, and have the resource manager grant them: what it keeps "
                         "from its job it keeps from every rank");
    return 0;
}

static int hold_cpus(struct contain *c, struct error *err)
{
    if (!c->step->containment.cpuset)
        return 0;
    if (!c->tree)
        return error_set(err, ENOTSUP,
                         "--containment=...,cpuset: no cgroup of this host can hold it (%s)",
                         c->reason);
    if (cgroup_tree_hold_cpus(c->tree, c->cpus, err) < 0)
        return error_context(err, "--containment=...,cpuset");
    return 0;
}

static void settle(struct contain *c)
{
    struct error e;
    if (c->tree && c->rank_limits.memory.set &&
        (cgroup_tree_controllers(c->tree) & (1u << CGROUP_MEMORY)))
        c->rank_limits.memory.held_by = HELD_BY_CGROUP;
    finish(c, check(c, &e) < 0 || hold_cpus(c, &e) < 0 ? &e : NULL);
}

static void add_reason(struct contain *c, const char *why)
{
    size_t n = strlen(c->reason);
    if (why[0])
        snprintf(c->reason + n, sizeof(c->reason) - n, "%s%s", n ? "; " : "", why);
}

static void have_place(void *arg, const struct cgroup_place *place, const struct error *why)
{
    struct contain *c = arg;
    struct error e;
    const struct containment_request *r = &c->step->containment;
    enum tracking level = r->tracking_set && r->tracking == TRACK_STEP ? TRACK_STEP : TRACK_RANK;
    if (!place) {
        add_reason(c, why ? why->text : "no place for cgroups");
        try_next_source(c);
        return;
    }
    c->tree = cgroup_tree_create(c->loop, place, c->id, level, &c->host_limits, &e);
    if (!c->tree) {
        add_reason(c, e.text);
        try_next_source(c);
        return;
    }
    c->level = level;
    if (level != TRACK_RANK)
        add_reason(c, "--containment=step");
    settle(c);
}

/* No cgroup: the resource manager's own way, or the process tree alone. */
static void fall_to_manager(struct contain *c)
{
    char how[160], why[sizeof(c->reason)], *advice;
    c->level = TRACK_TREE;
    if (!rm_tracking(how, sizeof(how)))
        return;
    c->level = TRACK_RM;
    memcpy(why, c->reason, sizeof(why));
    advice = strstr(why, CGROUP_ADVICE);
    if (advice) /* that would take them out of the job */
        *advice = 0;
    snprintf(c->reason, sizeof(c->reason), "%s; %s%s", how, why,
             advice ? "; the administrator can give jobs cgroups with mprund" : "");
}

static int use_answer(struct contain *c, struct error *err)
{
    struct cgroup_place place;
    if (!c->asked.has_answer) {
        *err = c->asked.why;
        return -1;
    }
    if (cgroup_daemon_place(&c->asked.answer, &place, err) < 0)
        return -1;
    c->place_fn(c, &place, NULL);
    cgroup_place_free(&place);
    return 0;
}

static void try_next_source(struct contain *c)
{
    struct error e;
    while (cgroup_sources[c->next_source]) {
        const struct cgroup_source *s = cgroup_sources[c->next_source++];
        int has_asked = s == &cgroup_source_daemon && c->asked.state == ASKED_DONE;
        if (has_asked && use_answer(c, &e) == 0)
            return;
        if (!has_asked && s->acquire(c->loop, c->self, c->nself, c->place_fn, c, &e) == 0)
            return;
        add_reason(c, e.text);
    }
    fall_to_manager(c);
    if (c->step)
        settle(c);
    else
        finish(c, NULL);
}

/* ---- only asked ------------------------------------------------------------------------------ */

static void add_words(struct contain *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add_words(struct contain *c, const char *fmt, ...)
{
    size_t n = strlen(c->reason);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->reason + n, sizeof(c->reason) - n, fmt, ap);
    va_end(ap);
}

static void describe_place(struct contain *c, const struct cgroup_place *p)
{
    const char *between = " (";
    c->reason[0] = 0;
    if (p->v2) {
        add_words(c, "cgroup v2 in '%s'", p->v2);
        for (int k = 0; k < CGROUP_CONTROLLER_COUNT; k++)
            if (p->v2_controllers & (1u << k)) {
                add_words(c, "%s%s", between, cgroup_controller_text((enum cgroup_controller)k));
                between = ", ";
            }
        add_words(c, "%s", p->v2_controllers ? ")" : ", without controllers");
    }
    between = p->v2 ? "; cgroup v1: " : "cgroup v1: ";
    for (int k = 0; k < CGROUP_CONTROLLER_COUNT; k++)
        if (p->v1[k]) {
            add_words(c, "%s%s", between, cgroup_controller_text((enum cgroup_controller)k));
            between = ", ";
        }
}

static void probed_place(void *arg, const struct cgroup_place *place, const struct error *why)
{
    struct contain *c = arg;
    if (!place) {
        add_reason(c, why ? why->text : "no place for cgroups");
        try_next_source(c);
        return;
    }
    c->level = TRACK_RANK;
    describe_place(c, place);
    finish(c, NULL);
}

/* ---- the node daemon ------------------------------------------------------------------------- */

static void asked(void *arg, const struct grant_answer *answer, const struct error *why)
{
    struct contain_asked *a = &((struct contain *)arg)->asked;
    a->state = ASKED_DONE;
    a->has_answer = answer != NULL;
    if (answer)
        a->answer = *answer;
    else
        a->why = *why;
    a->fn(a->arg);
}

void contain_ask(struct contain *c, struct loop *loop, void (*fn)(void *arg), void *arg)
{
    struct error e;
    c->asked = (struct contain_asked){.state = ASKED_NOW, .fn = fn, .arg = arg};
    if (cgroup_daemon_ask(loop, asked, c, &e) < 0)
        asked(c, NULL, &e);
}

const char *contain_gpus(const struct contain *c)
{
    return c->asked.has_answer ? c->asked.answer.gpus : "";
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void prepare(struct contain *c, struct loop *loop, const pid_t *self, size_t nself,
                    contain_done_fn fn, void *arg)
{
    *c = (struct contain){.asked = c->asked, .active = 1, .loop = loop, .fn = fn, .arg = arg};
    for (; c->nself < nself && c->nself < sizeof(c->self) / sizeof(c->self[0]); c->nself++)
        c->self[c->nself] = self[c->nself];
}

void contain_probe(struct contain *c, struct loop *loop, const pid_t *self, size_t nself,
                   contain_done_fn fn, void *arg)
{
    prepare(c, loop, self, nself, fn, arg);
    c->place_fn = probed_place;
    try_next_source(c);
}

void contain_begin(struct contain *c, struct loop *loop, const struct step *step, uint32_t host,
                   const struct idset *cpus, const pid_t *self, size_t nself, contain_done_fn fn,
                   void *arg)
{
    prepare(c, loop, self, nself, fn, arg);
    c->cpus = cpus;
    c->place_fn = have_place;
    c->step = step;
    snprintf(c->id, sizeof(c->id), "%s-%u", step->id, host);
    c->rank_limits = step->rank_limits;
    c->host_limits = step->host_limits;
    if (step->containment.tracking_set && step->containment.tracking == TRACK_TREE) {
        c->level = TRACK_TREE;
        add_reason(c, "--containment=tree");
        settle(c);
        return;
    }
    try_next_source(c);
}
