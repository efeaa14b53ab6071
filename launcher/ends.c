/* SPDX-License-Identifier: BSD-3-Clause */
/* ends.c - how ranks ended: the first failure is said once, and decides the exit code
 *
 * Ends that come within OUTCOME_WINDOW_MS of each other are weighed (model/outcome.h), so the
 * sentence waits that long; the other ranks are ended at once. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/spawn.h"
#include "launcher/run.h"

const struct rank_end *ends_first(const struct run *r)
{
    return outcome_first_failure(r->failures, r->nfailures);
}

static const char *text_of(const struct run *r, const struct rank_end *e)
{
    const char *t = e->name.rank < r->step.nranks ? r->end_texts[e->name.rank] : NULL;
    return t && *t ? t : NULL;
}

/* A program that the rank's host has not got, although this one has it. */
static const char *where_it_is(const struct run *r, const struct rank_end *e)
{
    AUTO_FREE char *path = NULL;
    if (e->code != EXIT_CODE_NOT_FOUND || r->alloc.hosts[e->host].here || r->cmd.preload_binary)
        return "";
    for (size_t i = 0; i < r->step.napps; i++) {
        const struct app *a = &r->step.apps[i];
        if (e->name.rank - a->first_rank < a->count &&
            spawn_resolve(a->argv[0], a->envp, a->directory, &path, NULL) == 0)
            return "; this host has it: put it in a place that all hosts share, or add "
                   "--preload-binary";
    }
    return "";
}

static void describe(struct run *r, const struct rank_end *e)
{
    char name[RANK_NAME_TEXT], who[400];
    snprintf(who, sizeof(who), "rank %s on %s (pid %d)", rank_name_format(e->name, name),
             r->hosts[e->host].name, (int)r->ranks[e->name.rank].pid);
    char *to = r->failure_text;
    size_t n = sizeof(r->failure_text);
    const char *others = r->step.nranks > 1 ? "; the other ranks are ended" : "";
    switch (e->cause) {
    case END_NOT_STARTED:
        snprintf(to, n, "%s%s%s", text_of(r, e) ? text_of(r, e) : who, where_it_is(r, e), others);
        break;
    case END_LIMIT:
        snprintf(to, n, "%s%s", text_of(r, e) ? text_of(r, e) : who, others);
        break;
    case END_SIGNAL:
        snprintf(to, n, "%s was killed by signal %d (%s)%s", who, e->code, strsignal(e->code),
                 others);
        break;
    case END_ABORT:
        snprintf(to, n, "%s called abort with code %d%s", who, e->code, others);
        break;
    case END_NO_FINALIZE:
        snprintf(to, n, "%s exited after MPI_Init without MPI_Finalize%s", who, others);
        break;
    case END_NO_INIT:
        snprintf(to, n, "%s exited without MPI_Init, in which other ranks wait for it%s", who,
                 others);
        break;
    default:
        snprintf(to, n, "%s exited with code %d%s", who, e->code, others);
    }
}

void ends_explain(struct run *r)
{
    const struct rank_end *first = ends_first(r);
    if (r->explained || !first)
        return;
    r->explained = 1;
    loop_timer_stop(r->explain_timer);
    describe(r, first);
    /* `mprun ... | head`: the reader had enough, which is no failure to tell of */
    if (r->reader_left && first->cause == END_SIGNAL && first->code == SIGPIPE)
        return;
    log_error("%s", r->failure_text);
}

void ends_explain_soon(struct run *r)
{
    if (!r->explained && !loop_timer_active(r->explain_timer))
        loop_timer_start(r->explain_timer, OUTCOME_WINDOW_MS / 1000.0, 0);
}

void ends_rank(struct host *h, const struct rank_end *end, int counts, const char *text)
{
    struct run *r = h->run;
    uint32_t rank = end->name.rank;
    r->ended[rank] = 1;
    r->nknown += !r->begun[rank];
    r->ends[rank] = *end;
    r->ranks[rank].end = &r->ends[rank];
    if (text && *text)
        r->end_texts[rank] = strdup(text);
    r->nended++;
    h->ended++;
    if (r->input)
        input_credit(r->input, end->name, 0, 0, 1);
    if (!counts || end->cause == END_OK || end->cause == END_KILLED)
        return;
    if (r->nfailures < r->step.nranks + 1u)
        r->failures[r->nfailures++] = *end;
    run_kill(r, -1, "a rank failed");
    ends_explain_soon(r);
}

static void judge_absent(struct run *r)
{
    const struct rank_end *e = &r->absent;
    if (!r->joined || e->cause != END_NO_INIT || r->nfailures > r->step.nranks || r->killing)
        return;
    r->ends[e->name.rank].cause = END_NO_INIT;
    r->failures[r->nfailures++] = *e;
    run_kill(r, -1, "a rank ended without MPI_Init");
    ends_explain_soon(r);
}

void ends_without_joining(struct run *r, const struct rank_end *end)
{
    if (r->absent.cause == END_NO_INIT)
        return;
    r->absent = *end;
    r->absent.cause = END_NO_INIT;
    judge_absent(r);
}

void ends_joined(struct run *r)
{
    r->joined = 1;
    judge_absent(r);
}

int ends_exit_code(const struct run *r)
{
    if (r->exit_code >= 0)
        return r->exit_code;
    return outcome_exit_code(ends_first(r));
}
