/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-options.c - the one table of mprsrc's options */
#include <errno.h>
#include <string.h>

#include "tools/mprsrc.h"

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"

/* ---- what they do ---------------------------------------------------------------------------- */

static int set_mode(struct mprsrc_options *o, enum mprsrc_mode mode, struct error *err)
{
    if (o->mode_given && o->mode != mode)
        return error_set(err, EINVAL, "another mode was given before; keep one");
    o->mode = mode;
    o->mode_given = 1;
    return 0;
}

static int apply_mode(void *target, const char *value, struct error *err)
{
    static const char *const words[] = {
        [MODE_USERENV] = "userenv", [MODE_PROLOG] = "prolog", [MODE_EPILOG] = "epilog", NULL};
    for (int i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            return set_mode(target, (enum mprsrc_mode)i, err);
    return error_set(err, EINVAL, "unknown mode '%.60s'; valid: prolog, epilog, userenv", value);
}

static int apply_prolog(void *target, const char *value, struct error *err)
{
    return set_mode(target, MODE_PROLOG, err);
}

static int apply_epilog(void *target, const char *value, struct error *err)
{
    return set_mode(target, MODE_EPILOG, err);
}

static int apply_host(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    o->host = value;
    return *value ? 0 : error_set(err, EINVAL, "the name of a host is missing");
}

/* Grid Engine's word for a job without tasks is "undefined". */
static int take_task(struct mprsrc_options *o, const char *text, struct error *err)
{
    int64_t task = 1;
    if (strcmp(text, "undefined") != 0 && number_parse(text, "task", 1, UINT32_MAX, &task, err) < 0)
        return -1;
    if (o->task && o->task != (uint32_t)task)
        return error_set(err, EINVAL, "task %u was given before; keep one", o->task);
    o->task = (uint32_t)task;
    return 0;
}

static int apply_jobid(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    size_t n = strcspn(value, ".");
    AUTO_FREE char *number = must(strndup(value, n));
    int64_t job;
    if (number_parse(number, "job", 1, UINT32_MAX, &job, err) < 0)
        return -1;
    o->job = (uint32_t)job;
    return value[n] ? take_task(o, value + n + 1, err) : 0;
}

static int apply_complex(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    const struct {
        const char *word, **name;
    } words[] = {{"memory", &o->names.memory},   {"vmem", &o->names.virtual_memory},
                 {"gpu", &o->names.gpu},         {"phi", &o->names.phi},
                 {"runtime", &o->names.runtime}, {"standby", &o->names.standby}};
    size_t n = strcspn(value, "=");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i].word) == n && memcmp(words[i].word, value, n) == 0 && value[n] &&
            value[n + 1]) {
            *words[i].name = value + n + 1;
            return 0;
        }
    return error_set(err, EINVAL,
                     "'%.60s' is no WHAT=NAME; WHAT is memory, vmem, gpu, phi, runtime or standby",
                     value);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define JOB    "Which job"
#define OUTPUT "What is printed"
#define SITE   "The site"

static const struct option_def option_table[] = {
    {"-j --jobid", "JOB[.TASK]", JOB,
     "Ask qstat for this job; without it, what 'qstat -xml -j' prints is read from standard input; "
     "where that is empty or a terminal, the job that this is in",
     .apply = apply_jobid},
    {"--pe-hostfile", "FILE", JOB,
     "The job's hosts and slots, where qstat names none; inside the job it is known",
     OPTION_SETS(OPTION_TEXT, struct mprsrc_options, pe_hostfile)},
    {"-m --mode", "MODE", OUTPUT,
     "prolog: SGE_PROLOG_..., and what a job's output should tell; epilog: SGE_EPILOG_...; "
     "userenv: SGE_RESOURCE_... (the default)",
     .apply = apply_mode},
    {"-p --prolog", NULL, OUTPUT, "Short for --mode=prolog", .apply = apply_prolog},
    {"-e --epilog", NULL, OUTPUT, "Short for --mode=epilog", .apply = apply_epilog},
    {"-o --only", NULL, OUTPUT, "This host only: single values instead of arrays",
     OPTION_SETS(OPTION_FLAG, struct mprsrc_options, only)},
    {"-H --host", "HOST", OUTPUT, "This host of the job only: single values instead of arrays",
     .apply = apply_host},
    {"--json", NULL, OUTPUT, "A JSON document instead of shell variables",
     OPTION_SETS(OPTION_FLAG, struct mprsrc_options, json)},
    {"--complex", "WHAT=NAME", SITE,
     "The complex that holds memory, vmem, gpu, phi, runtime or standby here", OPTION_APPEND,
     .apply = apply_complex},
    {"--qstat", "PROGRAM", SITE, "The qstat to run, instead of the cell's or the one in PATH",
     OPTION_SETS(OPTION_TEXT, struct mprsrc_options, qstat)},
    {"--user", "USER", SITE,
     "Root only: whom mprsrc becomes before it reads what qstat says; mprund without it",
     OPTION_SETS(OPTION_TEXT, struct mprsrc_options, user)},
    {"--timeout", "TIME", SITE, "How long a qstat may take; 60 s without it",
     OPTION_SETS(OPTION_SECONDS, struct mprsrc_options, timeout)},
    TOOL_OPTIONS,
    {.names = NULL},
};

static int take_word(void *request, size_t n, char *word, struct error *err)
{
    if (n > 0)
        return error_set(err, EINVAL, "'%.60s': one task is enough; --help lists the options",
                         word);
    return take_task(request, word, err);
}

static int check(void *request, size_t words, struct error *err)
{
    const struct mprsrc_options *o = request;
    if (o->only && o->host)
        return error_set(err, EINVAL, "--only and --host both choose a host; keep one");
    return 0;
}

struct mprsrc_options mprsrc_defaults(void)
{
    return (struct mprsrc_options){
        .timeout = 60, .user = "mprund", .names = resource_names_default};
}

const struct tool mprsrc_tool = {
    .name = "mprsrc",
    .options = option_table,
    .take_word = take_word,
    .check = check,
    .usage = "Usage: mprsrc [OPTION...] [TASK]\n"
             "Print what a Grid Engine job may use on each of its hosts: cores, memory, GPUs.\n"
             "\n"
             "Examples:\n"
             "  vars=$(mprsrc --only) && eval \"$vars\"    in a job script\n"
             "  qstat -xml -j 23 | mprsrc --json          anywhere\n",
    .exit_codes =
        "Exit code: 0; 1 mprsrc failed, 2 it was used wrongly, 3 there is no such job, 4 the\n"
        "job has no hosts, or not this one, 5 qstat's text is damaged, 6 qstat failed. More is\n"
        "in mprsrc(1).\n",
};
