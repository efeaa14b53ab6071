/* SPDX-License-Identifier: BSD-3-Clause */
/* starters.c - the start of a step's starters as a whole: its parts, beginning and end */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "launcher/policy.h"
#include "launcher/signals/job-suspension.h"
#include "launcher/socket-directory.h"
#include "launcher/start/by-other-starters/by-other-starters.h"
#include "launcher/start/listen.h"
#include "launcher/start/mprund-grants.h"
#include "launcher/start/start-timeout.h"
#include "launcher/start/starter-private.h"
#include "launcher/start/sweep-dead-starter.h"
#include "launcher/step-record.h"

struct starters *starters_create(const struct starters_step *step)
{
    struct starters *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->step = *step;
    s->plan = step->plan;
    s->grants = grants_ask(s->plan);
    s->arrivals = (struct arrivals){.hosts = step->hosts, .links = step->links};
    s->errands = errands_create(s->plan->nused);
    s->other_steps = other_steps_create(s);
    s->of = calloc(s->plan->nused, sizeof(*s->of));
    if (!s->grants || !s->errands || !s->other_steps || !s->of) {
        starters_destroy(s);
        return NULL;
    }
    for (size_t i = 0; i < s->plan->nused; i++)
        s->of[i] = (struct starter){.all = s, .host = step->hosts->used[i]};
    return s;
}

void starters_destroy(struct starters *s)
{
    if (!s)
        return;
    grants_destroy(s->grants);
    loop_timer_stop(&s->unreachable);
    errands_destroy(s->errands);
    other_steps_destroy(s->other_steps);
    sweep_destroy(s->sweep);
    free(s->of);
    free(s);
}

/* ---- the beginning --------------------------------------------------------------------------- */

struct start_request starters_request(const struct step_plan *plan)
{
    static char *const argv[] = {"mpstarter", NULL};
    return (struct start_request){
        .starter_path = plan->starter_path,
        .remote_path = plan->remote_path,
        .starter_argv = argv,
        .agent = plan->cmd->agent,
        .patience = plan->cmd->start_timeout,
        .soft_limits = plan->step.soft_limits,
        .umask = plan->step.umask,
        .concurrency = plan->cmd->start_concurrency,
    };
}

/* No host is there, and none will be. */
static void none_begins(struct starters *s)
{
    for (size_t i = 0; i < s->plan->nhosts; i++)
        host_enter(&s->step.hosts->all[i], AGENT_UNUSED);
}

static void cannot_begin(struct starters *s, const struct error *why)
{
    none_begins(s);
    verdict_fail(s->step.verdict, EXIT_CODE_MPRUN, "%s", why->text);
}

static void begin(void *arg)
{
    struct starters *s = arg;
    struct error e;
    struct start_request request = starters_request(s->plan);
    request.loop = s->step.loop;
    request.reaper = s->step.reaper;
    request.event = starter_life_event;
    request.is_elsewhere = through_is_elsewhere;
    request.arg = s;
    request.allocation = &s->plan->used;
    request.variables = grants_variables(s->grants);
    through_begin(s);
    s->starting = s->plan->adapter->start(&request, &e);
    if (s->starting)
        s->timeout = start_timeout_create(s);
    else
        cannot_begin(s, &e);
    loop_defer_schedule(s->step.turn);
}

/* Start clients of other hosts, and what is on this machine of a host that still answers. */
static bool is_needed(void *arg, pid_t pid)
{
    const struct starters *s = arg;
    if (job_suspension_has(s->step.suspension, pid))
        return true;
    for (size_t i = 0; i < s->plan->nused; i++) {
        const struct starter *st = &s->of[i];
        bool is_worker = s->plan->used.hosts[i].here &&
                         step_record_facts(s->step.record, (uint32_t)i)->worker == pid;
        if ((st->client_pid == pid || is_worker) && (st->client_runs || starter_is_linked(st)))
            return true;
    }
    return false;
}

void starters_begin(struct starters *s)
{
    struct starters_step *step = &s->step;
    struct error e;
    s->sweep = sweep_create(step, is_needed, s);
    if (s->sweep)
        s->listeners = listeners_open(step->loop, s->plan, step->directory->path, &arrival_events,
                                      &s->arrivals, &e);
    else
        error_errno(&e, ENOMEM, "start the hosts");
    if (s->listeners)
        grants_await(s->grants, step->loop, begin, s);
    else
        cannot_begin(s, &e);
}

/* ---- on the way ------------------------------------------------------------------------------ */

static void fell_back(struct starter *st, const char *why)
{
    start_remarks_fell_back(&st->all->remarks, st->host, why);
    if (!host_above(st->host)) /* mprun has to start those below it for them to have a channel */
        through_end(st->all);
}

void starters_said_hello(struct starters *s, struct host *h, const char *why_stdio,
                         const char *login_session)
{
    const struct rm_adapter *a = s->plan->adapter;
    struct starter *st = starter_of(s, h);
    if (why_stdio[0])
        fell_back(st, why_stdio);
    if (login_session[0] && !st->client_is_starter)
        start_remarks_session(&s->remarks, s->plan, h, login_session);
    client_stderr_show_at_once(st->said);
    other_steps_reported(s->other_steps, st);
    client_channel_end_input(st->channel); /* if another client's starter has reported */
    if (a->reported && s->starting)
        a->reported(s->starting, (size_t)h->launch_index);
    through_reported(st);
    if (++s->nreported < s->plan->nused)
        return;
    other_steps_end(s->other_steps);
    start_remarks_all_reported(&s->remarks, s->plan);
}

/* Where start clients are not ended, those whose starters never come are not waited for. */
void starters_cancel(struct starters *s)
{
    if (grants_forget(s->grants))
        none_begins(s);
    if (!s->starting)
        return;
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].host->state < AGENT_CONNECTED)
            host_mark_cancelled(s->of[i].host);
    s->plan->adapter->cancel(s->starting);
    other_steps_cancel(s->other_steps);
    through_end(s);
    if (!s->plan->adapter->abandon)
        unreachable_abandon_after(s, UNREACHABLE_SECONDS);
}

void starters_erase_progress(struct starters *s)
{
    start_timeout_erase_progress(s->timeout);
}

void starters_close(struct starters *s)
{
    if (!s)
        return;
    s->plan->adapter->destroy(take_ptr(s->starting));
    listeners_close(take_ptr(s->listeners));
    other_steps_end(s->other_steps);
    errands_destroy(take_ptr(s->errands));
    start_timeout_destroy(take_ptr(s->timeout));
    for (size_t i = 0; i < s->plan->nused; i++) {
        client_stderr_finish(s->of[i].said);
        client_stderr_destroy(take_ptr(s->of[i].said));
        client_channel_destroy(take_ptr(s->of[i].channel));
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

bool starters_client_runs(const struct starters *s, const struct host *h)
{
    return starter_of(s, h)->client_runs;
}

bool starters_has_client(const struct starters *s, const struct host *h)
{
    return starter_of(s, h)->client_runs && !errands_has_guests(s->errands, h);
}

bool starters_waits_for_room(const struct starters *s, const struct host *h)
{
    return other_steps_waits(s->other_steps, h);
}

const char *starters_lender(const struct starters *s, const struct host *h)
{
    return s ? other_steps_lender(s->other_steps, h) : "";
}

void starters_each_client(const struct starters *s,
                          void (*fn)(void *arg, const struct host *h, pid_t client), void *arg)
{
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].client_runs)
            fn(arg, s->of[i].host, s->of[i].client_pid);
}

void starters_errand_news(struct starters *s, const struct host *h, const Mprun__ErrandNews *m)
{
    errands_news(s->errands, h, m);
}
