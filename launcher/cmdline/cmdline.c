/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline.c - from words to a struct cmdline: the programs between ":" */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"

void cmdline_free(struct cmdline *c)
{
    for (size_t i = 0; i < c->napps; i++) {
        free(c->apps[i].env);
        free(c->apps[i].place);
        free(c->apps[i].said_place);
        free(c->apps[i].limits);
    }
    free(c->apps);
    free(c->reading.all_apps.env);
    for (size_t i = 0; i < c->ntexts; i++)
        free(c->texts[i]);
    free(c->texts);
    free((void *)(uintptr_t)c->hosts.lists);
    free((void *)(uintptr_t)c->hosts.files);
    free((void *)(uintptr_t)c->preload.files);
    free((void *)(uintptr_t)c->place.excluded);
    free(c->for_job);
    free(c->no_effect);
    free(c->reading.own_options);
    free(c->reading.own_used);
    free(c->reading.own_later_used);
    free(c->reading.options);
    free(c->reading.used);
    free(c->reading.later);
    free(c->reading.later_used);
    free(c->settings.list);
    free(c->settings.mistakes);
    words_free(c->start.agent);
    *c = (struct cmdline){.napps = 0};
}

/* Returns an array in which each use of the options is noted from now on; the caller frees it. */
static bool *watch(struct option_def *defs)
{
    size_t n = 0;
    while (defs[n].names)
        n++;
    bool *used = must(calloc(n + 1, sizeof(*used)));
    for (size_t i = 0; i < n; i++)
        defs[i].used = &used[i];
    return used;
}

/* The options of a dialect, and which of them are used. */
static struct option_def *watched_options(enum dialect d, bool **ret_used)
{
    struct option_def *defs = dialect_options(cmdline_options(), cmdline_peer_options(), d);
    *ret_used = watch(defs);
    return defs;
}

void cmdline_make_own_options(struct cmdline *c)
{
    if (!c->reading.own_options)
        c->reading.own_options = watched_options(DIALECT_MPRUN, &c->reading.own_used);
}

/* The line has been read: options that are applied by name from now on come from elsewhere. */
static void end_watch(struct cmdline *c)
{
    for (struct option_def *d = c->reading.own_options; d && d->names; d++)
        d->used = NULL;
}

struct step_wide_limits { /* what a line says before its first program */
    struct limits step, host, rank;
};

/* ---- one program ----------------------------------------------------------------------------- */

static int refuse_in_part(void *target, const char *value, struct error *err)
{
    return error_set(
        err, EINVAL,
        "it holds for the whole step; put it before the first program, only -n, -x, -env, "
        "--env-remove, --prepend-env, --append-env, --mca, "
        "--wdir, --host, -N, --map-by, --cpus-per-rank, --gpus-per-rank, --bind-to, --mem-bind, "
        "--mem-per-rank and '--limit rank:...' belong to a single one");
}

/* A switch that the first part has, too. */
static int keep_as_it_is(void *target, const char *value, struct error *err)
{
    return 0;
}

/* For the parts behind the first ":". */
static void keep_app_options(const struct cmdline *c, struct option_def *defs)
{
    for (size_t i = 0; defs[i].names; i++)
        if (!cmdline_is_app_option(&defs[i])) {
            defs[i].used = NULL;
            defs[i].apply =
                !defs[i].argument && *c->reading.options[i].used ? keep_as_it_is : refuse_in_part;
        }
}

/* One part of the line from argv[from] on: the index of its ":", argc, or -1. */
static int parse_part(struct cmdline *c, const struct option_def *defs, int argc,
                      char *const argv[], int from, struct error *err)
{
    c->reading.app = cmdline_add_app(c);
    int at = options_parse(defs, argc, argv, from, c, err);
    for (bool is_run = false; !is_run && at >= 0 && cmdline_is_subcommand(c, argc, argv, at);) {
        is_run = strcmp(argv[at], "run") == 0; /* another "run" is the program */
        at = options_parse(defs, argc, argv, at + 1, c, err);
    }
    if (at >= 0 && cmdline_settle_cpus(c, err) < 0)
        at = -1;
    if (at < 0 && c->napps > 1)
        return error_context(err, "program %zu of the line", c->napps);
    if (at < 0 || c->help || c->version)
        return at < 0 ? -1 : argc;
    const char *other = at < argc                               ? argv[at]
                        : c->queue.from                         ? "--queue"
                        : c->reading.program_file               ? "--app"
                        : c->dry_run                            ? "--dry-run"
                        : c->explain                            ? "--explain"
                        : c->self_test && c->env_diff           ? "--env-diff"
                        : c->env_diff && c->reading.app->nranks ? "-n"
                                                                : NULL;
    if ((c->self_test || c->env_diff) && other)
        return error_set(err, EINVAL, "%s runs programs of its own; leave '%.60s' out",
                         c->self_test ? "--self-test" : "--env-diff", other);
    if ((c->self_test || c->env_diff || c->settings.is_shown || c->settings.is_checked) &&
        at == argc && c->napps == 1)
        return argc;
    if (cmdline_check_subcommand(c, argc, argv, at, err) < 0)
        return -1;
    if (c->reading.has_bare_hosts && (at = cmdline_take_bare_hosts(c, argc, argv, at, err)) < 0)
        return -1;
    for (; cmdline_has_bare_variable(c, argc, argv, at); at++)
        if (cmdline_set_variable(c->reading.app, argv[at], err) < 0)
            return -1;
    int end = at;
    for (; end < argc && strcmp(argv[end], ":") != 0; end++)
        if (argv[end][0] == ':' && argv[end][1] == '-' &&
            options_find(defs, argv[end] + 1, strlen(argv[end] + 1)))
            return error_set(
                err, EINVAL,
                "'%.60s': a ':' between programs is a word of its own; put a blank behind it",
                argv[end]);
    if (at == argc && (c->reading.program_file || c->queue.from) && c->napps == 1)
        return argc;
    if (end == at)
        return cmdline_no_program(c, end, argc, argv, err);
    if (cmdline_check_program(argv[at], err) < 0)
        return -1;
    c->reading.app->argv = argv + at;
    c->reading.app->argc = (size_t)(end - at);
    return end;
}

/* The limits of ranks that a part of the line gives hold for the program of that part. */
static int take_own_limits(struct cmdline *c, const struct step_wide_limits *step,
                           struct error *err)
{
    struct limits *own = &c->step.rank_limits;
    if (limits_is_any_set(&c->step_limits) || limits_is_any_set(&c->step.host_limits)) {
        refuse_in_part(c, NULL, err);
        return error_context(err, "program %zu of the line: option '--limit' without 'rank:'",
                             c->napps);
    }
    if (!limits_is_any_set(own))
        return 0;
    c->reading.app->limits = must(malloc(sizeof(*own)));
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        c->reading.app->limits->of[k] = own->of[k].set ? own->of[k] : step->rank.of[k];
    return 0;
}

static void swap_limits(struct cmdline *c, struct step_wide_limits *with)
{
    const struct step_wide_limits now = {c->step_limits, c->step.host_limits, c->step.rank_limits};
    c->step_limits = with->step;
    c->step.host_limits = with->host;
    c->step.rank_limits = with->rank;
    *with = now;
}

/* One part behind another. */
static int parse_further_part(struct cmdline *c, const struct option_def *defs, int argc,
                              char *const argv[], int from, struct error *err)
{
    const struct placement_options step = c->place;
    struct step_wide_limits limits = {.step = {.memory = {.set = 0}}};
    size_t before = c->hosts.nlists;
    c->place = option_defaults.place;
    swap_limits(c, &limits);
    int at = parse_part(c, defs, argc, argv, from, err);
    if (at >= 0 &&
        (cmdline_take_own_place(c, &step, before, err) < 0 || take_own_limits(c, &limits, err) < 0))
        at = -1;
    c->place = step;
    swap_limits(c, &limits);
    return at;
}

/* The parts from argv[at] on. */
static int parse_line(struct cmdline *c, int argc, char *const argv[], int at, struct error *err)
{
    if (!c->reading.options) {
        c->reading.options = watched_options(c->dialect, &c->reading.used);
        c->reading.later = watched_options(c->dialect, &c->reading.later_used);
    }
    c->step_lists = c->hosts.nlists;
    at = parse_part(c, c->reading.options, argc, argv, at, err);
    if (at >= 0 && c->napps) {
        c->apps[0].first_list = c->step_lists;
        c->apps[0].nlists = c->hosts.nlists - c->step_lists;
    }
    keep_app_options(c, c->reading.later);
    if (at >= 0 && at < argc && !c->reading.own_later_used)
        c->reading.own_later_used = watch(c->reading.own_options);
    while (at >= 0 && at < argc) /* argv[at] is ":" */
        at = parse_further_part(c, c->reading.later, argc, argv, at + 1, err);
    return at < 0 ? -1 : 0;
}

/* The options on the line besides a file of programs hold for all of its programs. */
static int share_first(struct cmdline *c, struct error *err)
{
    struct cmdline_app first = c->apps[0];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < first.nenv; i++)
        rc = cmdline_set_variable(&c->reading.all_apps, first.env[i], err);
    free(first.env);
    c->apps[0].env = NULL;
    c->apps[0].nenv = 0;
    return rc;
}

static int parse_program_file(struct cmdline *c, struct error *err)
{
    char *const *argv;
    int argc;
    const char *path = c->reading.program_file;
    if (c->apps[0].argc)
        return error_set(
            err, EINVAL,
            "the program '%.60s' stands on the line, and others in file '%.100s'; leave one out",
            c->apps[0].argv[0], path);
    c->reading.file_place = c->place;
    if (share_first(c, err) < 0 || program_file_words(c, path, &argc, &argv, err) < 0)
        return -1;
    c->napps = 0;
    c->reading.program_file = NULL;
    return parse_line(c, argc, argv, 0, err) < 0 ? error_context(err, "file '%.100s'", path) : 0;
}

static int parse_parts(struct cmdline *c, int argc, char *const argv[], struct error *err)
{
    struct dialect_use use;
    cmdline_make_own_options(c);
    if (dialect_find(argc, argv, &use, err) < 0)
        return -1;
    c->dialect = use.dialect;
    c->reading.has_bare_hosts = use.has_bare_hosts;
    if (parse_line(c, argc, argv, 1, err) < 0)
        return -1;
    if (c->help || c->version || c->self_test || c->env_diff)
        return 0;
    if (c->reading.program_file)
        return parse_program_file(c, err);
    if (!c->reading.multi_prog || c->queue.from ||
        !c->apps[0].argc) /* a queue refuses --multi-prog */
        return 0;
    return share_first(c, err) < 0 ? -1 : multi_prog_apply(c, err);
}

/* Settings for all programs; a program's own setting comes before them. */
static int share_settings(struct cmdline *c, struct error *err)
{
    for (size_t i = 0; i < c->napps; i++) {
        c->apps[i].only |= c->reading.all_apps.only;
        for (size_t k = 0; k < c->reading.all_apps.nenv; k++)
            if (!cmdline_setting_for(&c->apps[i], c->reading.all_apps.env[k]) &&
                cmdline_set_variable(&c->apps[i], c->reading.all_apps.env[k], err) < 0)
                return -1;
    }
    return 0;
}

/* ---- the whole line -------------------------------------------------------------------------- */

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

/* An option that --queue needs, or that no queue can have. */
static const char *queue_misfit(const struct cmdline *c)
{
    const struct queue_options *q = &c->queue;
    if (!q->from)
        return q->log        ? "--joblog is for --queue; add that"
               : q->retries  ? "--retries is for --queue; for ranks write '--max-restarts N'"
               : q->resume   ? "--resume is for --queue; add that"
               : q->progress ? "--progress is for --queue; add that"
                             : NULL;
    return c->napps > 1 || c->reading.program_file || c->reading.multi_prog
               ? "--queue has one program, or none; leave ':', --app and --multi-prog out"
           : q->resume && !q->log ? "--resume needs the file of '--joblog FILE'"
           : c->preload.binary ? "--queue and --preload-binary: write '--preload-files PROGRAM', "
                                 "and in commands '$MPRUN_PRELOAD_DIR/PROGRAM'"
           : c->step.terminal  ? "--queue and --pty: many commands cannot share a terminal"
           : cmdline_uses(c, options_find(c->reading.own_options, "--stdin", 7)) &&
                   c->step.stdin_target != STDIN_NONE && c->step.stdin_target != STDIN_FILE
               ? "--queue and --stdin: many commands cannot share an input; write '--stdin "
                 "file:PATH'"
               : NULL;
}

static int settle_queue(struct cmdline *c, struct error *err)
{
    const char *misfit = queue_misfit(c);
    if (misfit)
        return error_set(err, EINVAL, "%s", misfit);
    if (!c->queue.from)
        return 0;
    if (c->step.stdin_target != STDIN_FILE)
        c->step.stdin_target = STDIN_NONE;
    if (c->apps[0].nranks || c->place.says_map || c->place.nodes_max)
        return 0;
    c->reading.app = c->apps;
    return cmdline_apply_number(c, "--np", 1, err);
}

static int check_line(struct cmdline *c, struct error *err)
{
    return settle_queue(c, err) < 0 || cmdline_settle_sets(c, err) < 0 ||
                   cmdline_take_flux_ranks(c, err) < 0 || cmdline_take_gpu_ranks(c, err) < 0 ||
                   sum_ranks(c, err) < 0 || share_settings(c, err) < 0 ||
                   cmdline_check_agreement(c, err) < 0
               ? -1
               : 0;
}

int cmdline_take_environment(struct cmdline *c, char *const env[], struct error *err)
{
    if (settings_take_locked(c, err) < 0 ||
        (!c->settings.are_ignored && settings_take_variables(c, env, err) < 0) ||
        environment_apply(c, env, err) < 0 ||
        (!c->settings.are_ignored && settings_take_files(c, env, err) < 0) ||
        cmdline_take_srun_ranks(c, err) < 0)
        return -1;
    cmdline_inherit_settings(c);
    return check_line(c, err);
}

int cmdline_parse(int argc, char *const argv[], struct cmdline *ret, struct error *err)
{
    struct cmdline c = option_defaults;
    *ret = (struct cmdline){.napps = 0};
    if (parse_parts(&c, argc, argv, err) < 0 ||
        (!c.help && !c.version && !c.self_test && !c.env_diff && check_line(&c, err) < 0)) {
        cmdline_free(&c);
        return -1;
    }
    end_watch(&c);
    *ret = c;
    return 0;
}
