/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/outcome/verdict.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/log.h"
#include "common/loop.h"

void verdict_init(struct verdict *v, struct loop_defer *turn)
{
    *v = (struct verdict){.exit_code = -1, .turn = turn};
}

bool verdict_fail_silently(struct verdict *v, int exit_code)
{
    if (v->exit_code >= 0 || v->explained)
        return false;
    v->exit_code = exit_code;
    v->explained = true;
    return true;
}

void verdict_fail(struct verdict *v, int exit_code, const char *fmt, ...)
{
    char text[sizeof(v->text)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (verdict_fail_silently(v, exit_code)) {
        verdict_explain(v, text);
        log_error("%s", text);
    } else {
        log_debug("%s", text);
    }
    verdict_end_ranks(v, -1, text);
}

bool verdict_claim_explanation(struct verdict *v)
{
    if (v->explained)
        return false;
    v->explained = true;
    return true;
}

void verdict_explain(struct verdict *v, const char *text)
{
    snprintf(v->text, sizeof(v->text), "%s", text);
}

void verdict_end_ranks(struct verdict *v, double grace, const char *why)
{
    loop_defer_schedule(v->turn);
    if (v->ending && grace < 0)
        return;
    if (!v->ending)
        v->ending_time = loop_now();
    v->ending = v->wished = true;
    v->grace = grace;
    snprintf(v->why, sizeof(v->why), "%s", why);
}

bool verdict_is_ending(const struct verdict *v)
{
    return v->ending;
}

double verdict_ending_seconds(const struct verdict *v)
{
    return v->ending ? loop_now() - v->ending_time : 0;
}

bool verdict_take_wish(struct verdict *v, double *ret_grace, const char **ret_why)
{
    bool wished = v->wished;
    v->wished = false;
    *ret_grace = v->grace;
    *ret_why = v->why;
    return wished;
}
