/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/report/stack-report.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/words.h"
#include "launcher/hosts/host-links.h"
#include "launcher/step/step-record.h"
#include "launcher/tunables.h"
#include "wire/messages/values.h"

/* ---- what is said ---------------------------------------------------------------------------- */

static bool has_not_answered(const void *arg, const struct host *h)
{
    const struct stack_report *s = arg;
    return !s->answered[h->launch_index] && h->state < AGENT_REPORTED;
}

static void say_lines(char *text)
{
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        log_warn("  %s", line);
}

/* In place of the text: the first MPI function in it; "" where there is none. */
static void keep_mpi_function(char *text)
{
    char *at = strstr(text, "MPI_");
    while (at && at[-1] != ' ' && !(at[-1] == 'P' && at[-2] == ' '))
        at = strstr(at + 1, "MPI_");
    size_t n = at ? strcspn(at, " \n@(") : 0;
    memmove(text, at ? at : text, n);
    text[n] = 0;
}

/* The rank, and those behind it whose text is the same; their texts are used up. */
static void say_group(struct stack_report *s, uint32_t first)
{
    const struct host_table *t = s->hosts;
    const struct report_rank *rank = step_record_rank(t->record, (struct rank_name){.rank = first});
    AUTO(rank_set_free) struct rank_set same = {0};
    AUTO_FREE char *text = take_ptr(s->text[first]);
    rank_set_add(&same, rank->name);
    for (uint32_t i = first + 1; i < t->plan->step.nranks; i++)
        if (s->text[i] && strcmp(s->text[i], text) == 0) {
            rank_set_add(&same, (struct rank_name){.rank = i});
            free(take_ptr(s->text[i]));
        }
    AUTO_FREE char *names = rank_set_format(&same);
    uint32_t n = rank_set_count(&same);
    if (s->is_brief) {
        if (*text)
            log_warn("%s %s in %s", names ? names : "", n == 1 ? "is" : "are", text);
        *text = 0;
    } else if (n == 1)
        log_warn("rank %u on %s (pid %d):", first, t->record->hosts[rank->host].name,
                 (int)rank->pid);
    else
        log_warn("%s (%u ranks):", names ? names : "", n);
    say_lines(text);
}

static void say(struct stack_report *s)
{
    char names[600];
    loop_timer_stop(&s->timer);
    for (uint32_t i = 0; s->is_brief && i < s->hosts->plan->step.nranks; i++)
        if (s->text[i])
            keep_mpi_function(s->text[i]);
    for (uint32_t i = 0; i < s->hosts->plan->step.nranks; i++)
        if (s->text[i])
            say_group(s, i);
    size_t missing = hosts_list(s->hosts, has_not_answered, s, names, sizeof(names));
    if (missing)
        log_warn("no stack traces within %g s of %zu host%s: %s", STACK_REPORT_SECONDS, missing,
                 plural(missing), names);
    loop_defer_schedule(s->turn);
}

static void over(void *arg)
{
    say(arg);
}

/* ---- questions and answers ------------------------------------------------------------------- */

void stack_report_ask(struct stack_report *s, bool brief)
{
    Mprun__StacksAsk m = MPRUN__STACKS_ASK__INIT;
    if (stack_report_is_awaited(s)) {
        s->is_brief &= brief;
        return;
    }
    s->is_brief = brief;
    s->awaited = 0;
    for (size_t i = 0; i < s->hosts->plan->nused; i++) {
        s->answered[i] = s->hosts->used[i]->state >= AGENT_REPORTED;
        s->awaited += !s->answered[i];
    }
    m.turn = ++s->number;
    hosts_broadcast(s->hosts, FRAME_STACKS_ASK, &m.base);
    if (s->awaited)
        loop_timer_start(&s->timer, STACK_REPORT_SECONDS, 0);
    else
        say(s);
}

bool stack_report_is_awaited(const struct stack_report *s)
{
    return loop_timer_is_active(&s->timer);
}

static void keep(struct stack_report *s, const struct host *h, const Mprun__Stacks *m)
{
    struct rank_name name = rank_name_unpack(m->name);
    if (!rank_set_has(h->ranks, name) || s->text[name.rank])
        return;
    s->text[name.rank] = must(strndup((const char *)m->text.data, m->text.len));
    for (char *c = s->text[name.rank]; *c; c += strcspn(c, "\n") + (strchr(c, '\n') != NULL))
        text_make_printable(c, strcspn(c, "\n"));
}

int stack_report_answer(struct stack_report *s, const struct host *h, const Mprun__Stacks *m)
{
    if (m->turn == 0 || m->turn > s->number)
        return -1;
    if (m->turn < s->number || !stack_report_is_awaited(s) || s->answered[h->launch_index])
        return 0; /* too late */
    if (m->name)
        keep(s, h, m);
    if (!m->is_last)
        return 0;
    s->answered[h->launch_index] = true;
    if (--s->awaited == 0)
        say(s);
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

void stack_report_init(struct stack_report *s, struct loop *loop, struct host_table *hosts,
                       struct loop_defer *turn)
{
    *s = (struct stack_report){.hosts = hosts, .turn = turn};
    s->answered = must(calloc(hosts->plan->nused + 1, sizeof(*s->answered)));
    s->text = must(calloc(hosts->plan->step.nranks + 1u, sizeof(*s->text)));
    loop_timer_init(&s->timer, loop, over, s);
}

void stack_report_free(struct stack_report *s)
{
    loop_timer_stop(&s->timer);
    for (uint32_t i = 0; s->text && i < s->hosts->plan->step.nranks; i++)
        free(s->text[i]);
    free(s->text);
    free(s->answered);
}
