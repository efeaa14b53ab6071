/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-options.c - the one table of mprsrc's options */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mprsrc.h"

#include "common/cleanup.h"
#include "common/number.h"

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

static int apply_only(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    o->only = 1;
    return 0;
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
    AUTO_FREE char *number = strndup(value, n);
    int64_t job;
    if (!number)
        return error_errno(err, ENOMEM, "read it");
    if (number_parse(number, "job", 1, UINT32_MAX, &job, err) < 0)
        return -1;
    o->job = (uint32_t)job;
    return value[n] ? take_task(o, value + n + 1, err) : 0;
}

static int apply_json(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    o->json = 1;
    return 0;
}

static int apply_pe_hostfile(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    o->pe_hostfile = value;
    return 0;
}

static int apply_qstat(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    o->qstat = value;
    return 0;
}

static int apply_timeout(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    return duration_parse(value, NULL, &o->timeout, err);
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

static int apply_help(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    o->help = 1;
    return 0;
}

static int apply_version(void *target, const char *value, struct error *err)
{
    struct mprsrc_options *o = target;
    o->version = 1;
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define JOB    "Which job"
#define OUTPUT "What is printed"
#define SITE   "The site"
#define OTHER  "Help"

const struct option_def mprsrc_option_table[] = {
    {"-j --jobid", "JOB[.TASK]", JOB,
     "Ask qstat for this job; without it, what 'qstat -xml -j' prints is read from standard input",
     OPTION_ONCE, apply_jobid},
    {"--pe-hostfile", "FILE", JOB,
     "The job's hosts and slots, where qstat names none; inside the job it is known", OPTION_ONCE,
     apply_pe_hostfile},
    {"-m --mode", "MODE", OUTPUT,
     "prolog: SGE_PROLOG_..., and what a job's output should tell; epilog: SGE_EPILOG_...; "
     "userenv: SGE_RESOURCE_... (the default)",
     OPTION_ONCE, apply_mode},
    {"-p --prolog", NULL, OUTPUT, "Short for --mode=prolog", OPTION_ONCE, apply_prolog},
    {"-e --epilog", NULL, OUTPUT, "Short for --mode=epilog", OPTION_ONCE, apply_epilog},
    {"-o --only", NULL, OUTPUT, "This host only: single values instead of arrays", OPTION_ONCE,
     apply_only},
    {"-H --host", "HOST", OUTPUT, "This host of the job only: single values instead of arrays",
     OPTION_ONCE, apply_host},
    {"--json", NULL, OUTPUT, "A JSON document instead of shell variables", OPTION_ONCE, apply_json},
    {"--complex", "WHAT=NAME", SITE,
     "The complex that holds memory, vmem, gpu, phi, runtime or standby here", OPTION_APPEND,
     apply_complex},
    {"--qstat", "PROGRAM", SITE, "The qstat to run, instead of the cell's or the one in PATH",
     OPTION_ONCE, apply_qstat},
    {"--timeout", "TIME", SITE, "How long a qstat may take; 60 s without it", OPTION_ONCE,
     apply_timeout},
    {"-h --help", NULL, OTHER, "This text", OPTION_ONCE, apply_help},
    {"-V --version", NULL, OTHER, "The version", OPTION_ONCE, apply_version},
    {.names = NULL},
};

int mprsrc_options_parse(int argc, char **argv, struct mprsrc_options *ret, struct error *err)
{
    struct mprsrc_options o = {.timeout = 60, .names = resource_names_default};
    int at = 1, words = 0;
    while (at < argc) { /* the task may stand in front of options, as getopt's words may */
        int dashes = strcmp(argv[at], "--") == 0;
        at = options_parse(mprsrc_option_table, argc, argv, at, &o, err);
        if (at < 0)
            return -1;
        if (at < argc && words++)
            return error_set(err, EINVAL, "'%.60s': one task is enough; --help lists the options",
                             argv[at]);
        if (at < argc && take_task(&o, argv[at++], err) < 0)
            return -1;
        if (dashes)
            break;
    }
    if (o.only && o.host)
        return error_set(err, EINVAL, "--only and --host both choose a host; keep one");
    *ret = o;
    return 0;
}

char *mprsrc_help(size_t width)
{
    AUTO_FREE char *options = options_help(mprsrc_option_table, width);
    char *text = NULL;
    if (!options)
        return NULL;
    int n = asprintf(
        &text,
        "Usage: mprsrc [OPTION...] [TASK]\n"
        "Print what a Grid Engine job may use on each of its hosts: cores, memory, GPUs.\n"
        "\n"
        "Examples:\n"
        "  vars=$(mprsrc --only -j $JOB_ID $SGE_TASK_ID) && eval \"$vars\"    in a job script\n"
        "  qstat -xml -j 23 | mprsrc --json                              anywhere\n"
        "\n"
        "%s"
        "\n"
        "Exit code: 0; 1 mprsrc failed, 2 it was used wrongly, 3 there is no such job, 4 the\n"
        "job has no hosts, or not this one, 5 qstat's text is damaged, 6 qstat failed. More is\n"
        "in mprsrc(1).\n",
        options);
    return n < 0 ? NULL : text;
}
