/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/report/state-now.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/text/text.h"
#include "launcher/step/step-record.h"

enum { STATE_HOSTS_MAX = 32 };

enum group { NOT_STARTED, RUNNING, ENDED, FAILED, GROUPS };

static enum group group_of(const struct report_rank *r)
{
    if (!r->end)
        return r->pid ? RUNNING : NOT_STARTED;
    return r->end->cause == END_OK ? ENDED : FAILED;
}

static void add(const struct step_record *r, struct rank_name name, uint32_t host,
                struct rank_set in[GROUPS])
{
    const struct report_rank *rank = step_record_rank(r, name);
    if (host == UINT32_MAX || rank->host == host)
        rank_set_add(&in[group_of(rank)], name);
}

/* "ranks 0 to 2 run, rank 3 has ended" of the host, or of all hosts (UINT32_MAX). */
static void say(const struct step_record *r, uint32_t host, const char *name)
{
    static const char *const verbs[GROUPS][2] = {{"was not started", "were not started"},
                                                 {"runs", "run"},
                                                 {"has ended", "have ended"},
                                                 {"has failed", "have failed"}};
    struct rank_set in[GROUPS] = {0};
    struct text_writer writer;
    FILE *f = text_begin(&writer);
    for (uint32_t i = 0; i < r->plan->step.nranks; i++)
        add(r, (struct rank_name){.rank = i}, host, in);
    for (int g = 0; g < GROUPS; g++) {
        AUTO_FREE char *ranks = rank_set_format(&in[g]);
        uint32_t count = rank_set_count(&in[g]);
        if (count)
            fprintf(f, "%s%s %s", ftell(f) ? ", " : "", ranks, verbs[g][count > 1]);
        rank_set_free(&in[g]);
    }
    AUTO_FREE char *text = text_end(&writer);
    log_warn("on %s: %s", name, text);
}

void state_now_say(const struct step_record *r)
{
    if (r->plan->nused > STATE_HOSTS_MAX)
        say(r, UINT32_MAX, "all hosts");
    for (uint32_t i = 0; r->plan->nused <= STATE_HOSTS_MAX && i < r->plan->nused; i++)
        say(r, i, r->hosts[i].name);
}
