/* SPDX-License-Identifier: BSD-3-Clause */
/* step-states.c - the states of a step
 *
 * One function per state looks at what has happened and returns the next state, or the same one;
 * events only record facts and ask for a turn of this machine. */

#include <signal.h>

#include "common/cleanup.h"
#include "common/processes/fault.h"
#include "common/log.h"
#include "launcher/run.h"
#include "launcher/tools/mpir.h"
#include "wire/messages/launch.h"

/* The wish to end the ranks is carried out: every host is told, and no further one is started. */
static void end_ranks(struct run *r)
{
    const char *why;
    double grace;
    if (!verdict_take_wish(&r->verdict, &grace, &why))
        return;
    hosts_end_ranks(r->hosts, grace < 0 ? r->plan->step.kill_grace : grace, why);
    if (r->state == STEP_STARTING)
        starters_cancel(r->starters);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void announce_oversubscription(struct run *r)
{
    if (!r->plan->step.oversubscribed || r->plan->cmd->quiet ||
        r->plan->cmd->place.oversubscribe == 1)
        return;
    log_note("%s; ranks share cores (--oversubscribe: do not say this)", r->plan->placement.reason);
}

/* The same bytes for all: each starter finds its own place in them. */
static void launch(struct run *r)
{
    const struct step_plan *p = r->plan;
    struct launch l = {
        .step = p->step, /* borrowed */
        .hosts = p->placements,
        .nhosts = p->nused,
        .report_bindings = p->cmd->report_bindings || p->cmd->explain,
        .same_machine = p->same_machine,
    };
    r->held_for_debugger = mpir_is_debugged();
    if (r->held_for_debugger && l.step.stop_point == STOP_NOWHERE)
        l.step.stop_point = STOP_AT_EXEC;
    size_t n;
    AUTO_FREE uint8_t *packed = launch_pack(&l, &n);
    hosts_broadcast_bytes(r->hosts, FRAME_LAUNCH, packed, n);
    r->record.launch.sent = step_plan_seconds(p);
    step_limits_begin(&r->limits);
    for (size_t i = 0; i < p->nused; i++)
        if (r->hosts->used[i]->state == AGENT_PLACED)
            host_enter(r->hosts->used[i], AGENT_LAUNCHED);
}

static enum step_state starting(struct run *r)
{
    if (hosts_before(r->hosts, AGENT_PLACED) > 0 || r->suspension.suspended)
        return STEP_STARTING;
    fault_point("connected");
    if (r->preload) {
        preload_begin(r->preload);
        return STEP_PRELOADING;
    }
    launch(r);
    return STEP_LAUNCHING;
}

static enum step_state preloading(struct run *r)
{
    if (!preload_done(r->preload) || r->suspension.suspended)
        return STEP_PRELOADING;
    launch(r);
    return STEP_LAUNCHING;
}

/* A debugger that started mprun has attached to the ranks that it wants when this returns; the
 * others are not to wait. */
static void show_to_debugger(struct run *r)
{
    mpir_ranks_are_running(&r->record);
    if (r->held_for_debugger)
        hosts_signal(r->hosts, SIGCONT, false);
}

static enum step_state launching(struct run *r)
{
    struct rank_counts n = r->record.counts;
    if (n.started + n.ended > 0)
        fault_point("launching");
    if (n.known < r->record.nranks)
        return STEP_LAUNCHING;
    if (r->plan->cmd->explain) {
        verdict_end_ranks(&r->verdict, 0, "all could be started");
    } else if (n.started == r->record.nranks) {
        step_record_all_running(&r->record, hosts_with_links(r->hosts));
        announce_oversubscription(r);
        if (r->tracking_note)
            log_note("ranks are tracked by process tree only, no cgroup holds them: %s",
                     r->tracking_note);
        step_start_debug_daemons(r);
        show_to_debugger(r);
    }
    return STEP_RUNNING;
}

/* A host does not end by itself when its ranks have ended: it may get ranks of further worlds. */
static enum step_state running(struct run *r)
{
    Mprun__WorldEnd m = MPRUN__WORLD_END__INIT;
    queue_turn(r->queue);
    if (r->record.counts.ended < r->record.nranks || !queue_is_done(r->queue))
        return STEP_RUNNING;
    hosts_broadcast(r->hosts, FRAME_WORLD_END, &m.base);
    return STEP_ENDING;
}

/* A host that came late, or was told nothing yet, is ended as well. */
static void kill_latecomers(struct run *r)
{
    for (size_t i = 0; i < r->plan->nhosts; i++) {
        struct host *h = &r->hosts->all[i];
        Mprun__Kill m = MPRUN__KILL__INIT;
        if ((h->state == AGENT_CONNECTED || h->state == AGENT_PLACED) &&
            host_send(h, FRAME_KILL, &m.base))
            host_enter(h, AGENT_LAUNCHED);
    }
}

static enum step_state ending(struct run *r)
{
    fault_point("ending");
    if (verdict_is_ending(&r->verdict) &&
        r->hosts->counts[AGENT_CONNECTED] + r->hosts->counts[AGENT_PLACED] > 0)
        kill_latecomers(r);
    if (hosts_before(r->hosts, AGENT_REPORTED) > 0)
        return STEP_ENDING;
    if (r->input)
        input_finish(r->input);
    return STEP_CLEANING;
}

/* A starter has died, and what was to say more did not: the holder of the job's agents died, too,
 * or the start client never ended. */
static void name_lost_host(struct run *r)
{
    bool has_reason = r->verdict.exit_code >= 0 || rank_failures_first(&r->rank_failures);
    if (!verdict_is_ending(&r->verdict) || has_reason || r->plan->cmd->explain)
        return;
    for (size_t i = 0; i < r->plan->nused; i++) {
        const struct host *h = r->hosts->used[i];
        if (h->state == AGENT_GONE && h->failed && !h->cancelled)
            verdict_fail(&r->verdict, EXIT_CODE_MPRUN, "host %s: its mpstarter has gone", h->name);
    }
}

static enum step_state cleaning(struct run *r)
{
    name_lost_host(r);
    host_failures_say(&r->host_failures);
    rank_failures_explain(&r->rank_failures);
    if (verdict_is_ending(&r->verdict) && r->verdict.text[0])
        mpir_step_failed(r->verdict.text);
    return hosts_before(r->hosts, AGENT_CLEANED) > 0 ? STEP_CLEANING : STEP_RELEASING;
}

/* The hosts that may end now are told so. */
static void release(struct run *r, enum agent_state due)
{
    Mprun__Release m = MPRUN__RELEASE__INIT;
    size_t told = 0;
    for (size_t i = 0; i < r->plan->nhosts && r->hosts->counts[due] > 0; i++) {
        struct host *h = &r->hosts->all[i];
        if (h->state == due && host_top(h)) {
            host_enter(h, AGENT_RELEASED);
            told++;
        }
    }
    if (told) {
        hosts_broadcast(r->hosts, FRAME_RELEASE, &m.base);
        starters_await_end(r->starters);
    }
    for (size_t i = 0; told && i < r->plan->nused; i++)
        if (r->hosts->used[i]->state == AGENT_RELEASED)
            starters_released(r->starters, r->hosts->used[i]);
}

/* --first-failure: behind all that ranks have written. */
static void show_first_failure(struct run *r)
{
    const struct rank_end *first = rank_failures_first(&r->rank_failures);
    if (first && !r->last_lines_shown)
        output_show_last_lines(r->output, first->name, r->plan->used.hosts[first->host].name);
    r->last_lines_shown = true;
}

static enum step_state releasing(struct run *r)
{
    release(r, AGENT_CLEANED);
    if (hosts_before(r->hosts, AGENT_GONE) > 0 || !starters_leave(r->starters))
        return STEP_RELEASING;
    output_finish(r->output);
    show_first_failure(r);
    return output_idle(r->output) ? STEP_DONE : STEP_RELEASING;
}

static enum step_state done(struct run *r)
{
    loop_stop(r->loop);
    return STEP_DONE;
}

static void step_machine(struct run *r)
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
        bool is_cut_short = r->state < STEP_ENDING && verdict_is_ending(&r->verdict);
        enum step_state next = is_cut_short ? STEP_ENDING : due[r->state](r);
        if (next == r->state)
            return;
        r->state = next;
        output_progress(r->output, NULL); /* ranks may write to the terminal themselves */
        log_debug("step %s: %s", r->plan->step.id, step_state_text(next));
        if (next == STEP_RUNNING)
            terminal_take(&r->terminal);
        if (fault_of[next])
            fault_point(fault_of[next]);
    }
}

void step_turn(void *arg)
{
    step_timeout_settle(arg);
    end_ranks(arg);
    starters_settle(((struct run *)arg)->starters);
    step_machine(arg);
}

void step_begin(struct run *r)
{
    step_timeout_begin(r);
    starters_begin(r->starters);
    loop_defer_schedule(&r->turn);
}
