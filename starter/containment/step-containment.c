/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/containment/step-containment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "containment/cgroup/mounts.h"
#include "containment/job-cgroup/parents.h"
#include "containment/job-cgroup/systemd-scope.h"
#include "containment/step/tree.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "starter/containment/rank-devices.h"

static const char *why_no_limits(const struct step_containment *c)
{
    return c->reason[0] || !c->tree ? c->reason : cgroup_tree_why_no_limits(c->tree);
}

/* Compares what was reached with what the step asks for. -1 with err: it is too little. */
static int check(const struct step_containment *c, struct error *err)
{
    const struct containment_request *r = &c->step->containment;
    unsigned have = c->tree ? cgroup_tree_controllers(c->tree) : 0;
    if (r->tracking_set && c->level > r->tracking)
        return error_set(err, ENOTSUP, "--containment=%s: this host can only give '%s': %s",
                         tracking_text(r->tracking), tracking_text(c->level), c->reason);
    const struct {
        int wanted;
        enum cgroup_controller controller;
    } needs[] = {{r->memory, CGROUP_MEMORY}, {r->pids, CGROUP_PIDS}};
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].wanted && !(have & (1u << needs[i].controller)))
            return error_set(err, ENOTSUP,
                             "--containment=...,%s: no cgroup of this host can hold it (%s)",
                             cgroup_controller_text(needs[i].controller), why_no_limits(c));
    return 0;
}

static int hold_cpus(struct step_containment *c, struct error *err)
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

static int settle(struct step_containment *c, const struct gpu_shares *gpus, struct error *err)
{
    unsigned have = c->tree ? cgroup_tree_controllers(c->tree) : 0;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        if (c->rank_limits.of[k].set && (have & cgroup_limit_controller(k)))
            c->rank_limits.of[k].held_by = HELD_BY_CGROUP;
    limits_hold_without_cgroup(&c->rank_limits, LIMIT_OF_RANK);
    limits_hold_without_cgroup(&c->host_limits, LIMIT_OF_HOST);
    c->is_ready =
        check(c, err) == 0 && hold_cpus(c, err) == 0 && rank_devices_begin(c, gpus, err) == 0;
    return c->is_ready ? 0 : -1;
}

static void add_reason(struct step_containment *c, const char *why)
{
    size_t n = strlen(c->reason);
    if (why[0])
        snprintf(c->reason + n, sizeof(c->reason) - n, "%s%s", n ? "; " : "", why);
}

static int make_tree(struct step_containment *c, const struct cgroup_parents *parents,
                     struct error *err)
{
    const struct containment_request *r = &c->step->containment;
    enum tracking level = r->tracking_set && r->tracking == TRACK_STEP ? TRACK_STEP : TRACK_RANK;
    c->tree = cgroup_tree_create(c->loop, parents, c->id, level, &c->host_limits, err);
    if (!c->tree)
        return -1;
    c->level = level;
    if (r->oom_kills_one)
        cgroup_tree_kill_one(c->tree);
    if (level != TRACK_RANK)
        add_reason(c, "--containment=step");
    return 0;
}

/* No cgroup: uses the resource manager's own tracking, or the process tree. */
static void fall_to_manager(struct step_containment *c)
{
    char how[160], why[sizeof(c->reason)], *advice;
    c->level = TRACK_TREE;
    if (!rm_starter_side_is_tracked(how, sizeof(how)))
        return;
    c->level = TRACK_RM;
    memcpy(why, c->reason, sizeof(why));
    advice = strstr(why, CGROUP_ADVICE);
    if (advice) /* a scope of its own would take the processes out of the job */
        *advice = 0;
    snprintf(c->reason, sizeof(c->reason), "%s; %s%s", how, why,
             advice ? "; the administrator can give jobs cgroups with mprund" : "");
}

/* ---- where cgroups may be made --------------------------------------------------------------- */

/* is_own: the process's own cgroups, else those of mprund. */
static int find_parents(const struct step_containment *c, int is_own, const pid_t *self,
                        size_t nself, struct cgroup_parents *ret, struct error *err)
{
    int version = c->step ? c->step->containment.cgroup_version : 0; /* NULL: only asked */
    int rc = -1;
    if (is_own)
        rc = cgroup_parents_own(self, nself, ret, err);
    else if (c->has_answer)
        rc = cgroup_parents_granted(&c->answer, ret, err);
    else
        *err = c->why_no_answer;
    if (rc == 0 && version && cgroup_parents_keep(ret, version, err) < 0)
        rc = error_context(err, "--cgroup-version v%d", version);
    return rc;
}

/* Calls use with the parents that each source gives, until it returns 0. */
static void use_first(struct step_containment *c, const pid_t *self, size_t nself,
                      int (*use)(struct step_containment *c, const struct cgroup_parents *parents,
                                 struct error *err))
{
    for (int is_own = 0; is_own < 2; is_own++) {
        struct cgroup_parents parents;
        struct error e;
        int rc = find_parents(c, is_own, self, nself, &parents, &e);
        if (rc == 0) {
            rc = use(c, &parents, &e);
            cgroup_parents_free(&parents);
        }
        if (rc == 0)
            return;
        add_reason(c, e.text);
    }
    add_reason(c, c->why_no_scope.text);
    fall_to_manager(c);
}

/* Prints the name of each controller in the set. */
static void print_controllers(FILE *to, const char *before, unsigned controllers)
{
    for (int k = 0; k < CGROUP_CONTROLLER_COUNT; k++)
        if (controllers & (1u << k)) {
            fprintf(to, "%s%s", before, cgroup_controller_text((enum cgroup_controller)k));
            before = ", ";
        }
}

/* For a probe: says where cgroups could be made. */
static int describe_parents(struct step_containment *c, const struct cgroup_parents *p,
                            struct error *err)
{
    unsigned v1 = 0;
    memset(c->reason, 0, sizeof(c->reason));
    AUTO_FILE FILE *to = fmemopen(c->reason, sizeof(c->reason) - 1, "w");
    if (!to)
        return error_errno(err, errno, "describe cgroups");
    c->level = TRACK_RANK;
    if (p->v2) {
        fprintf(to, "cgroup v2 in '%s'", p->v2);
        print_controllers(to, " (", p->v2_controllers);
        fputs(p->v2_controllers ? ")" : ", without controllers", to);
    }
    for (int k = 0; k < CGROUP_CONTROLLER_COUNT; k++)
        v1 |= p->v1[k] ? 1u << k : 0;
    print_controllers(to, p->v2 ? "; cgroup v1: " : "cgroup v1: ", v1);
    return 0;
}

/* ---- the node daemon ------------------------------------------------------------------------- */

static void asked(void *arg, const struct grant_answer *answer, const struct error *why)
{
    struct step_containment *c = arg;
    c->is_asking = false;
    c->has_answer = answer != NULL;
    if (answer)
        c->answer = *answer;
    else
        c->why_no_answer = *why;
    c->answered(c->arg);
}

void containment_ask(struct step_containment *c, void (*answered)(void *arg), void *arg)
{
    struct error e;
    c->is_asking = true;
    c->answered = answered;
    c->arg = arg;
    if (cgroup_daemon_ask(c->loop, asked, c, &e) < 0)
        asked(c, NULL, &e);
}

const char *containment_mprund_is_silent(const struct step_containment *c)
{
    return c->why_no_answer.code == ETIMEDOUT ? c->why_no_answer.text : "";
}

/* ---- a scope of systemd's -------------------------------------------------------------------- */

static bool needs_scope(const struct step_containment *c, const pid_t *self, size_t nself)
{
    const struct containment_request *r = c->step ? &c->step->containment : NULL;
    AUTO(cgroup_parents_free) struct cgroup_parents own = {0};
    char how[160];
    if (c->has_answer || (r && ((r->tracking_set && r->tracking == TRACK_TREE) ||
                                r->cgroup_version == 1 || r->ignore_systemd)))
        return false;
    if (!systemd_scope_is_there() || rm_starter_side_is_tracked(how, sizeof(how)))
        return false;
    if (cgroup_parents_own(self, nself, &own, NULL) < 0)
        return true;
    /* root can make cgroups anywhere, but none with limits where others are in its own */
    unsigned can = geteuid() == 0 && !own.v1[CGROUP_MEMORY] ? own.v2_controllers : CGROUP_LIMITS;
    return !own.v2 || (can & CGROUP_LIMITS) != CGROUP_LIMITS;
}

static void has_place(void *arg, const struct error *err)
{
    struct step_containment *c = arg;
    c->scope = NULL;
    if (err)
        c->why_no_scope = *err;
    c->answered(c->arg);
}

void containment_find_place(struct step_containment *c, const struct step *step, uint32_t host,
                            const pid_t *self, void (*ready)(void *arg), void *arg)
{
    struct error e;
    c->step = step;
    cgroup_mounts_keep_to(step->containment.mount);
    if (step->containment.automount && geteuid() == 0)
        cgroup_parents_enable();
    snprintf(c->id, sizeof(c->id), "%s-%u", step->id, host);
    c->answered = ready;
    c->arg = arg;
    if (!needs_scope(c, self, SYSTEMD_SCOPE_PIDS)) {
        ready(arg);
        return;
    }
    c->scope = systemd_scope_ask(c->loop, c->id, self, has_place, c, &e);
    if (!c->scope)
        has_place(c, &e);
}

void containment_stop(struct step_containment *c)
{
    systemd_scope_free(take_ptr(c->scope));
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void containment_probe(struct step_containment *c, const pid_t *self, size_t nself)
{
    if (needs_scope(c, self, nself)) {
        char scope[80];
        snprintf(scope, sizeof(scope), "a transient scope of %s", systemd_scope_instance());
        c->level = TRACK_RANK;
        add_reason(c, scope);
        return;
    }
    use_first(c, self, nself, describe_parents);
}

int containment_begin(struct step_containment *c, const struct idset *cpus,
                      const struct gpu_shares *gpus, const pid_t *self, size_t nself,
                      struct error *err)
{
    const struct step *step = c->step;
    c->cpus = cpus;
    c->reason[0] = 0;
    c->rank_limits = step_lowest_rank_limits(step);
    c->host_limits = step->host_limits;
    if (step->containment.tracking_set && step->containment.tracking == TRACK_TREE) {
        c->level = TRACK_TREE;
        add_reason(c, "--containment=tree");
    } else {
        use_first(c, self, nself, make_tree);
    }
    oom_kills_begin(&c->oom_kills); /* now that this process is where it stays */
    return settle(c, gpus, err);
}

int containment_remove(struct step_containment *c, struct error *err)
{
    if (!c->tree)
        return 0;
    if (cgroup_tree_remove(c->tree, err) < 0)
        return -1;
    cgroup_tree_destroy(take_ptr(c->tree));
    return 0;
}
