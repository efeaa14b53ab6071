/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline.c - from words to a struct cmdline: the programs between ":", and what must agree */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "common/words.h"
#include "launcher/cmdline/cmdline-private.h"

void cmdline_free(struct cmdline *c)
{
    for (size_t i = 0; i < c->napps; i++)
        free(c->apps[i].env);
    free(c->apps);
    free(c->all_apps.env);
    for (size_t i = 0; i < c->ntexts; i++)
        free(c->texts[i]);
    free(c->texts);
    free((void *)(uintptr_t)c->hosts.lists);
    free((void *)(uintptr_t)c->hosts.files);
    free((void *)(uintptr_t)c->preload_files);
    free((void *)(uintptr_t)c->excluded);
    free(c->for_job);
    words_free(c->agent);
    *c = (struct cmdline){.napps = 0};
}

/* ---- one program ----------------------------------------------------------------------------- */

static int refuse_in_part(void *target, const char *value, struct error *err)
{
    return error_set(err, EINVAL,
                     "it holds for the whole step; put it before the first program, only -n, -x, "
                     "-env, --mca and --wdir belong to a single one");
}

/* For the parts behind the first ":". */
static void keep_app_options(struct option_def *defs)
{
    for (; defs->names; defs++)
        if (!cmdline_is_app_option(defs))
            defs->apply = refuse_in_part;
}

/* Text copied from a document often has a dash there that is none to us. */
static bool is_long_dash(const char *word)
{
    return strncmp(word, "\xe2\x80\x93", 3) == 0 || strncmp(word, "\xe2\x80\x94", 3) == 0 ||
           strncmp(word, "\xe2\x88\x92", 3) == 0;
}

/* Words that are surely no programs. */
static int check_program(const char *word, struct error *err)
{
    if (!*word)
        return error_set(err, EINVAL, "the name of the program is empty; is a variable unset?");
    if (is_long_dash(word))
        return error_set(err, EINVAL,
                         "'%.60s' begins with a long dash, as documents have it; type '-%.60s'",
                         word, word + 3);
    if (word[strspn(word, "0123456789")] == 0)
        return error_set(err, EINVAL, "the program is '%.60s'; is '-n %.60s' meant?", word, word);
    return 0;
}

/* more: another program follows */
static int no_program(const struct cmdline *c, int more, struct error *err)
{
    if (c->napps > 1 || more)
        return error_set(err, EINVAL, "program %zu of the line is missing: nothing stands %s ':'",
                         c->napps, c->napps > 1 ? "behind" : "before");
    return error_set(err, EINVAL,
                     "no program is given; write 'mprun [OPTION...] PROGRAM [ARGUMENT...]', for "
                     "example 'mprun -n 4 ./solver'");
}

static struct cmdline_app *add_app(struct cmdline *c)
{
    struct cmdline_app *grown = reallocarray(c->apps, c->napps + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    c->apps = grown;
    c->apps[c->napps] = (struct cmdline_app){.nranks = 0};
    return &c->apps[c->napps++];
}

/* One part of the line from argv[from] on: the index of its ":", argc, or -1. */
static int parse_part(struct cmdline *c, const struct option_def *defs, int argc,
                      char *const argv[], int from, struct error *err)
{
    c->app = add_app(c);
    if (!c->app)
        return error_set(err, ENOMEM, "out of memory");
    int at = options_parse(defs, argc, argv, from, c, err);
    if (at < 0 && c->napps > 1)
        return error_context(err, "program %zu of the line", c->napps);
    if (at < 0 || c->help || c->version)
        return at < 0 ? -1 : argc;
    if (c->self_test && at == argc)
        return argc;
    if (c->self_test)
        return error_set(err, EINVAL, "--self-test runs programs of its own; leave '%.60s' out",
                         argv[at]);
    int end = at;
    while (end < argc && strcmp(argv[end], ":") != 0)
        end++;
    if (end == at)
        return no_program(c, end < argc, err);
    if (check_program(argv[at], err) < 0)
        return -1;
    c->app->argv = argv + at;
    c->app->argc = (size_t)(end - at);
    return end;
}

static int parse_parts(struct cmdline *c, int argc, char *const argv[], struct error *err)
{
    int at;
    if (dialect_find(argc, argv, &c->dialect, &at, err) < 0)
        return -1;
    AUTO_FREE struct option_def *defs = dialect_options(cmdline_options(), c->dialect);
    if (!defs)
        return error_set(err, ENOMEM, "out of memory");
    at = parse_part(c, defs, argc, argv, at, err);
    keep_app_options(defs);
    while (at >= 0 && at < argc) /* argv[at] is ":" */
        at = parse_part(c, defs, argc, argv, at + 1, err);
    return at < 0 ? -1 : 0;
}

static const char *setting_for(const struct cmdline_app *app, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (size_t i = 0; i < app->nenv; i++)
        if (strncmp(app->env[i], entry, len) == 0 && app->env[i][len] == '=')
            return app->env[i];
    return NULL;
}

/* Settings for all programs; a program's own setting comes before them. */
static int share_settings(struct cmdline *c, struct error *err)
{
    for (size_t i = 0; i < c->napps; i++)
        for (size_t k = 0; k < c->all_apps.nenv; k++)
            if (!setting_for(&c->apps[i], c->all_apps.env[k]) &&
                cmdline_set_variable(&c->apps[i], c->all_apps.env[k], err) < 0)
                return -1;
    return 0;
}

/* ---- what must agree ------------------------------------------------------------------------- */

static int sum_ranks(struct cmdline *c, struct error *err)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < c->napps; i++) {
        if (c->napps > 1 && c->apps[i].nranks == 0)
            return error_set(err, EINVAL,
                             "program %zu of the line ('%.60s') has no '-n N'; of several programs "
                             "each needs its own",
                             i + 1, c->apps[i].argv[0]);
        sum += c->apps[i].nranks;
    }
    if (sum > CMDLINE_RANKS_MAX)
        return error_set(err, EINVAL, "%llu ranks are asked for, of at most %d",
                         (unsigned long long)sum, CMDLINE_RANKS_MAX);
    c->nranks = (uint32_t)sum;
    return 0;
}

static int check_memory(const struct cmdline *c, struct error *err)
{
    const struct limit *rank = &c->step.rank_limits.memory, *host = &c->step.host_limits.memory;
    char a[16], b[16];
    if (!rank->set || !host->set || rank->value <= host->value)
        return 0;
    return error_set(
        err, EINVAL, "--mem-per-rank %s is more than --mem %s, which all ranks of a host share",
        size_format(rank->value, a, sizeof(a)), size_format(host->value, b, sizeof(b)));
}

static int check_agreement(const struct cmdline *c, struct error *err)
{
    if (c->quiet && c->verbose)
        return error_set(err, EINVAL, "--quiet and --verbose contradict each other; keep one");
    if (c->dry_run && c->explain)
        return error_set(err, EINVAL,
                         "--dry-run starts nothing and --explain looks at every host; keep one");
    if (c->short_per_host && c->nranks > 0 && c->napps == 1)
        return error_set(err, EINVAL,
                         "'-N %.20s' and '-n %u' are %.20s ranks on each host to mpirun, and %u "
                         "ranks on %.20s hosts to srun; write '--npernode %.20s' or '--nodes "
                         "%.20s', or '--as mpirun' or '--as srun' first on the line",
                         c->short_per_host, c->nranks, c->short_per_host, c->nranks,
                         c->short_per_host, c->short_per_host, c->short_per_host);
    if (c->step.stdin_target == STDIN_RANK && c->nranks > 0 && c->step.stdin_rank >= c->nranks)
        return error_set(err, EINVAL, "--stdin names rank %u, but the ranks are 0 to %u",
                         c->step.stdin_rank, c->nranks - 1);
    if (c->step.terminal && c->step.stdin_target != STDIN_RANK)
        return error_set(err, EINVAL,
                         "--pty gives a terminal to the one rank that reads the input, but --stdin "
                         "names %s; name a rank, or leave --pty out",
                         c->step.stdin_target == STDIN_ALL ? "all" : "none");
    return check_memory(c, err);
}

int cmdline_parse(int argc, char *const argv[], struct cmdline *ret, struct error *err)
{
    struct cmdline c = option_defaults;
    *ret = (struct cmdline){.napps = 0};
    if (parse_parts(&c, argc, argv, err) < 0 ||
        (!c.help && !c.version &&
         (sum_ranks(&c, err) < 0 || share_settings(&c, err) < 0 || check_agreement(&c, err) < 0))) {
        cmdline_free(&c);
        return -1;
    }
    *ret = c;
    return 0;
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool is_in(char *const base[], const char *setting)
{
    size_t len = strcspn(setting, "=");
    for (; *base; base++)
        if (strncmp(*base, setting, len) == 0 && (*base)[len] == '=')
            return true;
    return false;
}

char **cmdline_app_environ(const struct cmdline_app *app, char *const base[])
{
    size_t n = 0, used = 0;
    while (base[n])
        n++;
    char **envp = calloc(n + app->nenv + 1, sizeof(*envp));
    for (size_t i = 0; envp && i < n + app->nenv; i++) {
        const char *setting = i < n ? setting_for(app, base[i]) : app->env[i - n];
        if (i >= n && (!strchr(setting, '=') || is_in(envp, setting)))
            continue;
        envp[used] = strdup(setting ? setting : base[i]);
        if (!envp[used++]) {
            words_free(envp);
            return NULL;
        }
    }
    return envp;
}

char **cmdline_app_given(const struct cmdline_app *app)
{
    size_t n = 0;
    char **names = calloc(app->nenv + 1, sizeof(*names));
    for (size_t i = 0; names && i < app->nenv; i++) {
        const char *equals = strchr(app->env[i], '=');
        if (!equals)
            continue;
        names[n] = strndup(app->env[i], (size_t)(equals - app->env[i]));
        if (!names[n++]) {
            words_free(names);
            return NULL;
        }
    }
    return names;
}

/* ---- help ------------------------------------------------------------------------------------ */

char *cmdline_help(const char *name, size_t width)
{
    enum dialect d;
    int from;
    dialect_find(1, (char *const[]){(char *)(uintptr_t)name}, &d, &from, NULL);
    AUTO_FREE struct option_def *defs = dialect_options(cmdline_options(), d);
    AUTO_FREE char *options = defs ? options_help(defs, width) : NULL;
    char *text = NULL;
    if (!options)
        return NULL;
    int n =
        asprintf(&text,
                 "Usage: %1$s [OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM ...]\n"
                 "Run a parallel program on the hosts and cores of this job, contained and\n"
                 "accounted for.\n"
                 "\n"
                 "Examples:\n"
                 "  %1$s ./solver                          one rank for each granted slot\n"
                 "  %1$s -n 4 --tag-output ./solver        four ranks, output tagged by rank\n"
                 "  %1$s --host n1:2,n2:2 ./solver         four ranks on two hosts, by ssh\n"
                 "  %1$s -n 1 ./master : -n 7 ./worker     two programs in one MPI world\n"
                 "\n"
                 "%2$s\n"
                 "Exit code: 0, or that of the first rank that failed, 128+N for signal N; 124\n"
                 "timeout, 125 %1$s failed or was used wrongly, 126 the program cannot be\n"
                 "executed, 127 it was not found. More is in mprun(1).\n",
                 name, options);
    return n < 0 ? NULL : text;
}
