/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-failures.c - reports the first failure of a rank, which gives the exit code
 *
 * Ends that come within OUTCOME_WINDOW_MS of each other are weighed (model/rank-end.h), so the
 * sentence waits that long; the other ranks are ended at once. */
#include "launcher/outcome/rank-failures.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "launcher/outcome/exit-code.h"
#include "launcher/outcome/first-failure.h"
#include "launcher/outcome/step-limits.h"
#include "launcher/outcome/verdict.h"
#include "launcher/step/step-record.h"

/* ---- the sentence ---------------------------------------------------------------------------- */

const struct rank_end *rank_failures_first(const struct rank_failures *f)
{
    const struct rank_end *first = outcome_first_failure(f->all, f->n);
    return first || !f->has_lost ? first : &f->lost;
}

static bool has_failed(const struct rank_end *end)
{
    return end->cause == END_SIGNAL || end->cause == END_CODE || end->cause == END_NO_FINALIZE;
}

/* --on-limit kill-rank, --enable-recovery: the step goes on without the rank. A rank that was not
 * started, and one that others wait for in MPI_Init, would let these hang. */
static bool goes_on(const struct rank_failures *f, const struct rank_end *end)
{
    const struct cmdline *c = f->plan->cmd;
    if (verdict_is_ending(f->verdict))
        return false;
    if (end->cause == END_LIMIT)
        return c->recovery || c->on_limit == ON_LIMIT_KILL_RANK;
    return c->recovery && has_failed(end);
}

/* A program that the rank's host has not got, although this one has it. */
static const char *where_it_is(const struct rank_failures *f, const struct rank_end *e)
{
    AUTO_FREE char *path = NULL;
    if (e->code != EXIT_CODE_NOT_FOUND || f->plan->used.hosts[e->host].here ||
        f->plan->cmd->preload.binary)
        return "";
    const struct app *a = step_app_of(&f->plan->step, e->name);
    if (a && spawn_resolve(a->argv[0], a->envp, a->directory, &path, NULL) == 0)
        return "; this host has it: put it in a place that all hosts share, or add "
               "--preload-binary";
    return "";
}

/* The end of the sentence about a failed rank: it says what happens to the other ranks. */
static const char *then(const struct rank_failures *f, const struct rank_end *e)
{
    if (f->record->nranks == 1 || f->plan->cmd->explain)
        return "";
    return goes_on(f, e) ? "; the other ranks go on" : "; the other ranks are ended";
}

/* "; '-n 2' behind the program went to it: ...": words that a user meant for mprun, which has no
 * number of ranks. */
static void add_misplaced_option(const struct rank_failures *f, const struct rank_end *e, char *to,
                                 size_t n)
{
    static const char *const names[] = {"-n",       "-np",        "--np",
                                        "--ntasks", "--hostfile", "-machinefile"};
    const struct app *a = step_app_of(&f->plan->step, e->name);
    for (char **word = a && !f->plan->cmd->nranks ? a->argv + 1 : NULL; word && word[0] && word[1];
         word++)
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
            if (strcmp(*word, names[i]) == 0) {
                snprintf(to, n,
                         "; '%s %.40s' behind the program went to it: mprun's own options stand "
                         "before the program",
                         *word, word[1]);
                return;
            }
}

static void describe(const struct rank_failures *f, const struct rank_end *e, const char *others,
                     char *to, size_t n)
{
    char name[RANK_NAME_TEXT], who[400], misplaced[200] = "";
    const struct report_rank *rank = step_record_rank(f->record, e->name);
    snprintf(who, sizeof(who), "rank %s on %s (pid %d)", rank_name_format(e->name, name),
             f->plan->used.hosts[e->host].name, rank ? (int)rank->pid : 0);
    const char *text = step_record_end_text(f->record, e->name);
    switch (e->cause) {
    case END_NOT_STARTED:
        snprintf(to, n, "%s%s%s", text ? text : who, where_it_is(f, e), others);
        break;
    case END_LIMIT:
        snprintf(to, n, "%s%s", text ? text : who, others);
        break;
    case END_SIGNAL:
        snprintf(to, n, "%s was killed by signal %d (%s)%s%s", who, e->code, strsignal(e->code),
                 text ? text : "", others);
        break;
    case END_ABORT:
        if (e->code == (e->code & 0xff))
            snprintf(to, n, "%s called abort with code %d%s", who, e->code, others);
        else
            snprintf(to, n, "%s called abort with code %d (%d as an exit code)%s", who, e->code,
                     exit_code_low(e->code), others);
        break;
    case END_NO_FINALIZE:
        snprintf(to, n, "%s exited after MPI_Init without MPI_Finalize%s", who, others);
        break;
    case END_NO_INIT:
        snprintf(to, n, "%s exited without MPI_Init, in which other ranks wait for it%s", who,
                 others);
        break;
    default:
        add_misplaced_option(f, e, misplaced, sizeof(misplaced));
        snprintf(to, n, "%s exited with code %d%s%s%s", who, e->code, text ? text : "", misplaced,
                 others);
    }
}

void rank_failures_describe(const struct rank_failures *f, const struct rank_end *end, char *to,
                            size_t n)
{
    describe(f, end, "", to, n);
}

static bool is_readers(const struct rank_failures *f, const struct rank_end *end)
{
    bool is_shells = end->cause == END_CODE && end->code == 128 + SIGPIPE; /* of its command */
    return f->reader_left && (is_shells || (end->cause == END_SIGNAL && end->code == SIGPIPE));
}

void rank_failures_explain(struct rank_failures *f)
{
    const struct rank_end *first = outcome_first_failure(f->all, f->n);
    char text[1200];
    if (!first || !verdict_claim_explanation(f->verdict))
        return;
    loop_timer_stop(&f->timer);
    describe(f, first, then(f, first), text, sizeof(text));
    verdict_explain(f->verdict, text);
    /* `mprun ... | head`: the reader had enough, which is no failure to tell of */
    if (is_readers(f, first))
        return;
    if (first->cause == END_LIMIT)
        step_limits_say_killed(f->plan);
    log_error("%s", text);
}

static void explain_due(void *arg)
{
    rank_failures_explain(arg);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void add(struct rank_failures *f, const struct rank_end *end, const char *why)
{
    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 16;
        f->all = must(reallocarray(f->all, f->cap, sizeof(*f->all)));
    }
    f->all[f->n++] = *end;
    verdict_end_ranks(f->verdict, -1, why);
    if (!f->verdict->explained && !loop_timer_is_active(&f->timer))
        loop_timer_start(&f->timer, OUTCOME_WINDOW_MS / 1000.0, 0);
}

void rank_failures_lose(struct rank_failures *f, const struct rank_end *end, const char *text)
{
    log_error("%s", text);
    if (f->has_lost)
        return;
    f->has_lost = true;
    f->lost = *end;
    verdict_explain(f->verdict, text);
}

bool rank_failures_restart(const struct rank_failures *f, const struct rank_end *end,
                           bool has_called_init)
{
    uint32_t most = f->plan->cmd->max_restarts, next = end->name.incarnation + 1;
    char text[1200], how[80], name[RANK_NAME_TEXT];
    if (next > most || !has_failed(end) || verdict_is_ending(f->verdict))
        return false;
    if (has_called_init) {
        log_note("rank %s is not started again: it has called MPI_Init, and MPI takes no rank back",
                 rank_name_format(end->name, name));
        return false;
    }
    snprintf(how, sizeof(how), "; it is started again (%" PRIu32 " of %" PRIu32 ")", next, most);
    describe(f, end, how, text, sizeof(text));
    log_warn("%s", text);
    return true;
}

void rank_failures_ended(struct rank_failures *f, const struct rank_end *end, bool counts)
{
    char text[1200];
    if (counts && goes_on(f, end)) {
        describe(f, end, then(f, end), text, sizeof(text));
        rank_failures_lose(f, end, text);
    } else if (counts && end->cause != END_OK && end->cause != END_KILLED)
        add(f, end, "a rank failed");
}

void rank_failures_aborted(struct rank_failures *f, struct rank_name name, uint32_t host, int code,
                           size_t others)
{
    const struct rank_end end = {
        .name = name,
        .host = host,
        .cause = END_ABORT,
        .code = code,
        .time_ns = loop_wallclock_ns(),
    };
    char text[300], rank[RANK_NAME_TEXT];
    snprintf(text, sizeof(text), "rank %s on %s aborts other ranks, with code %d; the step goes on",
             rank_name_format(name, rank), f->plan->used.hosts[host].name, code);
    if (others && !verdict_is_ending(f->verdict))
        rank_failures_lose(f, &end, text);
    else if (f->n < f->record->nranks) /* a rank may say it again and again */
        add(f, &end, "a rank called abort");
}

static void judge_lone(struct rank_failures *f)
{
    const struct rank_end *e = &f->lone;
    if (!f->init_called || e->cause != END_NO_INIT || verdict_is_ending(f->verdict))
        return;
    step_record_change_cause(f->record, e->name, END_NO_INIT);
    add(f, e, "a rank ended without MPI_Init");
}

void rank_failures_ended_without_init(struct rank_failures *f, const struct rank_end *end)
{
    if (f->lone.cause == END_NO_INIT)
        return;
    f->lone = *end;
    f->lone.cause = END_NO_INIT;
    judge_lone(f);
}

void rank_failures_init_called(struct rank_failures *f)
{
    f->init_called = true;
    judge_lone(f);
}

void rank_failures_reader_left(struct rank_failures *f)
{
    f->reader_left = true;
}

/* ---- life ------------------------------------------------------------------------------------ */

void rank_failures_init(struct rank_failures *f, struct loop *loop, const struct step_plan *plan,
                        struct step_record *record, struct verdict *verdict)
{
    *f = (struct rank_failures){
        .plan = plan, .record = record, .verdict = verdict, .lost = {.cause = END_OK}};
    loop_timer_init(&f->timer, loop, explain_due, f);
}

void rank_failures_free(struct rank_failures *f)
{
    loop_timer_stop(&f->timer);
    free(f->all);
}
