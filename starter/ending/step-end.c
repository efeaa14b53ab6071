/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ending/step-end.h"

#include "common/log.h"
#include "common/loop.h"
#include "starter/links/uplink.h"
#include "starter/services.h"
#include "wire/mprun.pb-c.h"

static void end(struct step_end *e, int exit_code, const char *text, bool keeper_died)
{
    Mprun__CannotRun m = MPRUN__CANNOT_RUN__INIT;
    m.exit_code = (uint32_t)exit_code;
    m.text = (char *)(uintptr_t)text;
    m.keeper_died = keeper_died;
    if (e->with->up->link)
        uplink_send(e->with->up, FRAME_CANNOT_RUN, &m.base);
    else
        log_error("%s", text);
    step_end_kill(e, e->grace, text);
}

void step_end_cannot_run(struct step_end *e, int exit_code, const char *text)
{
    end(e, exit_code, text, false);
}

void step_end_keeper_died(struct step_end *e, int exit_code, const char *text)
{
    end(e, exit_code, text, true);
}

void step_end_by_manager(struct step_end *e)
{
    double at = loop_now() + e->grace;
    if (!e->is_managers && e->has_begun && !e->with->up->link && at > e->kill_time)
        e->kill_time = at;
    e->is_managers = true;
}

void step_end_kill(struct step_end *e, double grace, const char *why)
{
    double at = loop_now() + grace;
    if (!e->has_begun)
        log_debug("ending ranks on %s: %s", e->with->hostname, why);
    if (!e->has_begun || at < e->kill_time)
        e->kill_time = at;
    e->has_begun = true;
    loop_defer_schedule(e->with->turn);
}
