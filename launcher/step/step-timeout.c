/* SPDX-License-Identifier: BSD-3-Clause */
/* step-timeout.c - ends the step after --timeout; the user's reports come before that */
#include "common/log.h"
#include "launcher/report/state-now.h"
#include "launcher/run.h"

/* A rank that failed before has ended the step already, and decides the code. */
static void end(struct run *r)
{
    double seconds = r->plan->cmd->timeout;
    r->timeout.is_over = false;
    if (rank_failures_first(&r->rank_failures) && verdict_is_ending(&r->verdict))
        log_debug("--timeout: %g s are over; the step is ending", seconds);
    else
        verdict_fail(&r->verdict, EXIT_CODE_TIMEOUT,
                     "--timeout: the step ran for %g s; its ranks are ended", seconds);
    step_drop_unread_output(r, r->plan->step.kill_grace);
}

void step_timeout_settle(struct run *r)
{
    if (r->timeout.is_over && !stack_report_is_awaited(&r->stacks) &&
        !loop_timer_is_active(&r->usage_now.timer))
        end(r);
}

static void timed_out(void *arg)
{
    struct run *r = arg;
    r->timeout.is_over = true;
    if (!verdict_is_ending(&r->verdict) && r->plan->cmd->debug.report_state) {
        log_warn("step %s is %s", r->plan->step.id, step_state_text(r->state));
        state_now_say(&r->record);
    }
    if (!verdict_is_ending(&r->verdict) && r->state >= STEP_LAUNCHING) {
        if (r->plan->cmd->debug.report_state)
            usage_now_ask(&r->usage_now);
        if (r->plan->cmd->debug.stack_traces)
            stack_report_ask(&r->stacks, false);
    }
    step_timeout_settle(r);
}

static void begin(struct run *r, double seconds)
{
    if (seconds <= 0)
        return;
    r->timeout.end = loop_now() + seconds;
    loop_timer_start(&r->timeout.timer, seconds, 0);
}

void step_timeout_begin(struct run *r)
{
    loop_timer_init(&r->timeout.timer, r->loop, timed_out, r);
    begin(r, r->plan->cmd->timeout);
}

void step_pause_timeout(struct run *r)
{
    if (!loop_timer_is_active(&r->timeout.timer))
        return;
    r->timeout.left = r->timeout.end - loop_now();
    loop_timer_stop(&r->timeout.timer);
}

void step_resume_timeout(struct run *r)
{
    begin(r, r->timeout.left);
    r->timeout.left = 0;
}
