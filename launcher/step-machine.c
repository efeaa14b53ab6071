/* SPDX-License-Identifier: BSD-3-Clause */
/* One function per state looks at what has happened and returns the next state, or the same one;
 * events only change facts and call step_changed(). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/fault.h"
#include "common/log.h"
#include "launcher/preload.h"
#include "launcher/run.h"

#define DROP_SECONDS 2.0 /* nothing is read for so long: nobody reads */

const char *step_state_text(enum step_state s)
{
    static const char *const text[STEP_STATE_COUNT] = {
        [STEP_STARTING] = "starting",   [STEP_PRELOADING] = "preloading",
        [STEP_LAUNCHING] = "launching", [STEP_RUNNING] = "running",
        [STEP_ENDING] = "ending",       [STEP_CLEANING] = "cleaning",
        [STEP_RELEASING] = "releasing", [STEP_DONE] = "done",
    };
    return text[s];
}

void step_changed(struct run *r)
{
    if (r->machine)
        loop_defer_schedule(r->machine);
}

/* ---- failures of mprun itself ---------------------------------------------------------------- */

void run_fail(struct run *r, int exit_code, const char *fmt, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (r->exit_code < 0) {
        r->exit_code = exit_code;
        snprintf(r->failure_text, sizeof(r->failure_text), "%s", text);
        r->explained = 1; /* what ranks do after this is a consequence */
        log_error("%s", text);
    } else {
        log_debug("%s", text);
    }
    run_kill(r, -1, text);
    step_changed(r);
}

void run_kill(struct run *r, double grace, const char *why)
{
    Mprun__Kill m = MPRUN__KILL__INIT;
    if (r->killing && grace < 0)
        return;
    r->killing = 1;
    m.grace = r->grace = grace < 0 ? r->step.kill_grace : grace;
    m.reason = (char *)(uintptr_t)why;
    hosts_broadcast(r, FRAME_KILL, &m.base);
    orphans_kill(r);
    if (r->state == STEP_STARTING)
        starters_cancel(r);
    step_changed(r);
}

/* Nothing was taken since the last look: nobody reads. */
static void drop_due(void *arg)
{
    struct run *r = arg;
    uint64_t taken = output_taken(r->output), dropped = 0;
    if (taken == r->drop_seen)
        dropped = output_drop(r->output);
    r->drop_seen = taken;
    if (dropped)
        log_warn("%llu bytes of output, and what ranks still had to say, are dropped: nobody "
                 "reads them",
                 (unsigned long long)dropped);
    step_changed(r);
}

void run_drop_output(struct run *r, double grace)
{
    r->drop_seen = UINT64_MAX;
    loop_timer_start(r->drop_timer, grace, DROP_SECONDS);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void announce_oversubscription(struct run *r)
{
    if (!r->step.oversubscribed || r->announced_oversubscribed || r->cmd.quiet ||
        r->cmd.oversubscribe == 1)
        return;
    r->announced_oversubscribed = 1;
    log_note("%s; ranks share cores (--oversubscribe: do not say this)", r->plan.reason);
}

static enum step_state starting(struct run *r)
{
    if (r->killing)
        return STEP_ENDING;
    if (agents_before(r, AGENT_PLACED) > 0 || suspension_holds(r))
        return STEP_STARTING;
    fault_point("connected");
    if (r->cmd.explain)
        return STEP_RELEASING;
    announce_oversubscription(r);
    if (r->preload) {
        preload_begin(r->preload);
        return STEP_PRELOADING;
    }
    hosts_launch(r);
    return STEP_LAUNCHING;
}

static enum step_state preloading(struct run *r)
{
    if (r->killing)
        return STEP_ENDING;
    if (!preload_done(r->preload) || suspension_holds(r))
        return STEP_PRELOADING;
    hosts_launch(r);
    return STEP_LAUNCHING;
}

static enum step_state launching(struct run *r)
{
    if (r->killing)
        return STEP_ENDING;
    if (r->nstarted + r->nended > 0)
        fault_point("launching");
    if (r->nknown < r->step.nranks)
        return STEP_LAUNCHING;
    if (r->nstarted == r->step.nranks)
        launch_is_over(r);
    return STEP_RUNNING;
}

static enum step_state running(struct run *r)
{
    if (r->killing || r->nended == r->step.nranks)
        return STEP_ENDING;
    return STEP_RUNNING;
}

/* A host that came late, or was told nothing yet, is ended as well. */
static void kill_latecomers(struct run *r)
{
    for (size_t i = 0; i < r->nhosts; i++) {
        struct host *h = &r->hosts[i];
        struct link *l =
            h->state == AGENT_CONNECTED || h->state == AGENT_PLACED ? host_link(h) : NULL;
        if (l) {
            Mprun__Kill m = MPRUN__KILL__INIT;
            agent_enter(h, AGENT_LAUNCHED);
            link_send(l, FRAME_KILL, &m.base);
        }
    }
}

static enum step_state ending(struct run *r)
{
    fault_point("ending");
    if (r->killing && r->agents[AGENT_CONNECTED] + r->agents[AGENT_PLACED] > 0)
        kill_latecomers(r);
    if (agents_before(r, AGENT_REPORTED) > 0)
        return STEP_ENDING;
    if (r->input)
        input_finish(r->input);
    return STEP_CLEANING;
}

static enum step_state cleaning(struct run *r)
{
    failed_say(r);
    ends_explain(r);
    return agents_before(r, AGENT_CLEANED) > 0 ? STEP_CLEANING : STEP_RELEASING;
}

/* Those that may go now are told so. */
static void release(struct run *r, enum agent_state due)
{
    Mprun__Release m = MPRUN__RELEASE__INIT;
    size_t told = 0;
    for (size_t i = 0; i < r->nhosts && r->agents[due] > 0; i++) {
        struct host *h = &r->hosts[i];
        if (h->state == due && host_top(h)) {
            agent_enter(h, AGENT_RELEASED);
            told++;
        }
    }
    if (told) {
        hosts_broadcast(r, FRAME_RELEASE, &m.base);
        starters_await_end(r);
    }
    for (size_t i = 0; told && i < r->nused; i++)
        if (r->launched[i]->state == AGENT_RELEASED)
            starters_released(r->launched[i]);
}

static enum step_state releasing(struct run *r)
{
    release(r, AGENT_CLEANED);
    if (r->cmd.explain)
        release(r, AGENT_PLACED);
    if (agents_before(r, AGENT_GONE) > 0 || !output_idle(r->output))
        return STEP_RELEASING;
    return STEP_DONE;
}

static enum step_state done(struct run *r)
{
    loop_stop(r->loop);
    return STEP_DONE;
}

void step_machine(struct run *r)
{
    static enum step_state (*const due[STEP_STATE_COUNT])(struct run *) = {
        [STEP_STARTING] = starting,   [STEP_PRELOADING] = preloading,
        [STEP_LAUNCHING] = launching, [STEP_RUNNING] = running,
        [STEP_ENDING] = ending,       [STEP_CLEANING] = cleaning,
        [STEP_RELEASING] = releasing, [STEP_DONE] = done,
    };
    static const char *const fault_of[STEP_STATE_COUNT] = {
        [STEP_LAUNCHING] = "preparing",
        [STEP_RUNNING] = "running",
        [STEP_CLEANING] = "reported",
        [STEP_RELEASING] = "cleaned",
    };
    for (;;) {
        enum step_state next = due[r->state](r);
        if (next == r->state)
            return;
        r->state = next;
        log_debug("step %s: %s", r->step.id, step_state_text(next));
        if (next == STEP_RUNNING)
            terminal_take(r);
        if (fault_of[next])
            fault_point(fault_of[next]);
    }
}

static void machine_due(void *arg)
{
    starters_settle(arg);
    step_machine(arg);
}

/* Where a rank has failed before, the step is ending already, and that decides the code. */
static void timed_out(void *arg)
{
    struct run *r = arg;
    if (ends_first(r))
        log_debug("--timeout: %g s are over; the step is ending", r->cmd.timeout);
    else
        run_fail(r, EXIT_CODE_TIMEOUT, "--timeout: the step ran for %g s; its ranks are ended",
                 r->cmd.timeout);
    run_drop_output(r, r->step.kill_grace);
}

void step_timeout(struct run *r, double seconds)
{
    r->timeout_at = loop_now() + seconds;
    loop_timer_start(r->timeout_timer, seconds, 0);
}

static void explain_due(void *arg)
{
    ends_explain(arg);
}

void step_begin(struct run *r)
{
    r->machine = loop_defer_create(r->loop, machine_due, r);
    r->explain_timer = loop_timer_create(r->loop, explain_due, r);
    r->timeout_timer = loop_timer_create(r->loop, timed_out, r);
    r->drop_timer = loop_timer_create(r->loop, drop_due, r);
    failed_begin(r);
    if (r->cmd.timeout > 0)
        step_timeout(r, r->cmd.timeout);
    starting_begin(r);
    step_changed(r);
}
