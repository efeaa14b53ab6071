/* SPDX-License-Identifier: BSD-3-Clause */
/* step-end.c - see step-end.h */
#include "starter/step-end.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/loop.h"
#include "starter/links/uplink.h"
#include "wire/mprun.pb-c.h"

struct step_end {
    struct uplink *up;
    struct loop_defer *turn;
    const char *hostname;
    double grace; /* seconds */
    bool has_begun;
    double kill_time; /* of loop_now() */
    int exit_code;
};

struct step_end *step_end_create(struct uplink *up, struct loop_defer *turn, const char *hostname)
{
    struct step_end *e = calloc(1, sizeof(*e));
    if (e)
        *e = (struct step_end){.up = up, .turn = turn, .hostname = hostname};
    return e;
}

void step_end_destroy(struct step_end *e)
{
    free(e);
}

void step_end_cannot_run(struct step_end *e, int exit_code, const char *text)
{
    Mprun__CannotRun m = MPRUN__CANNOT_RUN__INIT;
    m.exit_code = (uint32_t)exit_code;
    m.text = (char *)(uintptr_t)text;
    if (e->up->link)
        uplink_send(e->up, FRAME_CANNOT_RUN, &m.base);
    else
        log_error("%s", text);
    step_end_kill(e, e->grace, text);
}

void step_end_kill(struct step_end *e, double grace, const char *why)
{
    double at = loop_now() + grace;
    if (!e->has_begun)
        log_debug("ending ranks on %s: %s", e->hostname, why);
    if (!e->has_begun || at < e->kill_time)
        e->kill_time = at;
    e->has_begun = true;
    loop_defer_schedule(e->turn);
}

void step_end_set_grace(struct step_end *e, double seconds)
{
    e->grace = seconds;
}

void step_end_set_exit_code(struct step_end *e, int code)
{
    e->exit_code = code;
}

bool step_end_has_begun(const struct step_end *e)
{
    return e->has_begun;
}

double step_end_kill_time(const struct step_end *e)
{
    return e->kill_time;
}

int step_end_exit_code(const struct step_end *e)
{
    return e->exit_code;
}
