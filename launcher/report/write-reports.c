/* SPDX-License-Identifier: BSD-3-Clause */
/* write-reports.c - the reports of a step, from what is recorded of it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/files/json.h"
#include "common/must.h"
#include "common/text/text.h"
#include "launcher/step/step-record.h"
#include "config.h"

static char *command_line(const struct cmdline *cmd)
{
    struct text_writer text;
    FILE *f = text_begin(&text);
    for (size_t i = 0; i < cmd->napps; i++) {
        fputs(i ? " :" : "", f);
        for (size_t k = 0; k < cmd->apps[i].argc; k++)
            fprintf(f, "%s%s", i || k ? " " : "", cmd->apps[i].argv[k]);
    }
    return text_end(&text);
}

static void own_usage(struct usage *u)
{
    struct rusage self;
    getrusage(RUSAGE_SELF, &self);
    usage_set(u, USAGE_CPU_USER,
              (uint64_t)self.ru_utime.tv_sec * 1000000u + (uint64_t)self.ru_utime.tv_usec);
    usage_set(u, USAGE_CPU_SYSTEM,
              (uint64_t)self.ru_stime.tv_sec * 1000000u + (uint64_t)self.ru_stime.tv_usec);
    usage_set(u, USAGE_RSS_PEAK, (uint64_t)self.ru_maxrss * 1024);
}

static int compare_names(const void *a, const void *b)
{
    const struct rank_name *x = &((const struct report_rank *)a)->name;
    const struct rank_name *y = &((const struct report_rank *)b)->name;
    if (x->world != y->world)
        return x->world < y->world ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->incarnation < y->incarnation ? -1 : x->incarnation > y->incarnation;
}

/* Returns the rows of all worlds, ordered by their names. */
static struct report_rank *all_ranks(const struct step_record *record, size_t *ret_n)
{
    struct report_rank *all = must(calloc(record->nranks + record->nformers + 1, sizeof(*all)));
    size_t n = 0;
    for (const struct world_record *w = record->worlds; w; w = w->next) {
        memcpy(&all[n], w->ranks, w->nranks * sizeof(*all));
        n += w->nranks;
        for (const struct former_rank *f = w->formers; f; f = f->next)
            all[n++] = f->row;
    }
    if (record->nformers)
        qsort(all, n, sizeof(*all), compare_names);
    *ret_n = n;
    return all;
}

/* In one go, so that nothing comes between the lines. */
static void print_reports(const struct report_options *o, const struct report *report)
{
    struct text_writer writer;
    FILE *out = text_begin(&writer);
    if (o->launch)
        report_print_launch(report, out);
    if (o->usage)
        report_print(report, o->usage == REPORT_USAGE_ALL, out);
    else if (o->containment) /* the other has it, too */
        report_print_containment(report, out);
    AUTO_FREE char *text = text_end(&writer);
    (void)fd_write_all(STDERR_FILENO, text, strlen(text)); /* whose pipe may not be waited for */
}

int step_report_check(const struct cmdline *cmd, struct error *err)
{
    const char *path = cmd->report.json;
    return !path || json_may_write(path, err) == 0
               ? 0
               : error_context(err, "write the report '%s'", path);
}

int step_report_write(const struct step_plan *plan, const struct step_record *record,
                      const struct rank_end *first, const char *text, int exit_code,
                      struct error *err)
{
    const struct report_options *o = &plan->cmd->report;
    bool is_printed = o->usage || o->launch || o->containment;
    if (!is_printed && !o->json)
        return 0;
    AUTO_FREE char *command = command_line(plan->cmd);
    size_t nranks;
    AUTO_FREE struct report_rank *ranks = all_ranks(record, &nranks);
    struct report report = {
        .version = PACKAGE_VERSION,
        .step_id = plan->step.id,
        .job_id = plan->alloc.job_id,
        .adapter = plan->adapter->name,
        .command = command,
        .start_ns = plan->start_ns,
        .end_ns = loop_wallclock_ns(),
        .exit_code = exit_code,
        .first_failure = first,
        .failure_text = *text ? text : NULL,
        .sample_period = plan->step.sample_period,
        .limits = plan->cmd->step_limits,
        .launch = record->launch,
        .ranks = ranks,
        .nranks = nranks,
        .hosts = record->hosts,
        .nhosts = plan->nused,
    };
    for (size_t i = 0; i < plan->step.napps; i++)
        report.has_own_limits |= plan->step.apps[i].limits != NULL;
    own_usage(&report.launcher);
    umask((mode_t)plan->step.umask); /* the report is the user's */
    if (is_printed)
        print_reports(o, &report);
    return o->json ? report_write_json(&report, o->json, err) : 0;
}
