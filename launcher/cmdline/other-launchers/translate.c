/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/cmdline/other-launchers/translate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"

/* An option of mprun's as a shell reads it. */
struct translated {
    const struct option_def *own;
    char *text;
};

struct translation {
    const struct cmdline *said;
    struct cmdline c; /* the options are applied to it */
    struct translated *options;
    size_t noptions;
    FILE *line, *notes;
    bool has_translated; /* the option that is applied is others of mprun's */
    bool has_program_file;
    bool is_further;      /* this part is behind the first */
    bool has_subcommand;  /* "run" was there; or this is a part behind the first */
    bool has_default_map; /* the first part has one that the line does not say */
    bool has_default_to;
};

static void print_quoted(FILE *out, const char *word)
{
    AUTO_FREE char *quoted = word_quote(word);
    fprintf(out, " %s", quoted);
}

/* ---- options --------------------------------------------------------------------------------- */

/* "--map-by :span" is followed by "--map-by numa": *old becomes one of both. Takes text. */
static void add_modifiers(char **old, char *text, const char *modifiers)
{
    char *both = text_format("%s%s", text, modifiers);
    free(text);
    free(*old);
    *old = both;
}

/* Takes text. */
static void keep(struct translation *t, const struct option_def *own, char *text)
{
    for (size_t i = 0; own->repeat == OPTION_ONCE && i < t->noptions; i++)
        if (t->options[i].own == own) {
            const char *value = t->options[i].text + strcspn(t->options[i].text, " ");
            if (own->apply == cmdline_apply_map_by && strncmp(value, " :", 2) == 0) {
                add_modifiers(&t->options[i].text, text, value + 1);
                return;
            }
            if (strcmp(t->options[i].text, text) != 0)
                fprintf(t->notes, "# both '%s' and '%s' are meant; the second is left\n",
                        t->options[i].text, text);
            free(t->options[i].text);
            t->options[i].text = text;
            return;
        }
    t->options = must(reallocarray(t->options, t->noptions + 1, sizeof(*t->options)));
    t->options[t->noptions++] = (struct translated){own, text};
}

static void add(struct translation *t, const struct option_def *own, const char *name,
                const char *value)
{
    const char *argument = own->argument ? own->argument : "[=no]";
    bool is_pair = value && strcmp(argument, "NAME VALUE") == 0; /* it is NAME=VALUE here */
    size_t len = is_pair ? strcspn(value, "=") : 0;
    AUTO_FREE char *quoted = value ? word_quote(is_pair ? value + len + 1 : value) : NULL;
    const char *before = !value ? "" : argument[0] == '[' ? "=" : " ";
    keep(t, own,
         text_format("%s%s%.*s%s%s", name, is_pair ? " " : "", (int)len, value ? value : "", before,
                     value ? quoted : ""));
}

/* Notes an option of mprun's; an option that counts once replaces the one that was noted before. */
static void translation_add(struct translation *t, const char *name, const char *value)
{
    t->has_translated = true;
    add(t, options_find(t->c.reading.own_options, name, strlen(name)), name, value);
}

static bool says_same(const struct option_def *a, const struct option_def *b)
{
    return options_are_same(a, b) && !a->argument == !b->argument;
}

/* The option of mprun's that does the same, under the same name if there is one; NULL: none. */
static const struct option_def *find_same(const struct translation *t, const struct option_use *u)
{
    const struct option_def *own = options_find(t->c.reading.own_options, u->name, u->name_len);
    if (own && says_same(own, u->def))
        return own;
    for (own = t->c.reading.own_options; own->names; own++)
        if (says_same(own, u->def))
            return own;
    return NULL;
}

/* The name as typed, or the main one of the option that does the same. */
static void keep_option(struct translation *t, const struct option_use *u)
{
    const struct option_def *own = find_same(t, u);
    if (!own)
        return;
    bool is_known = options_find(t->c.reading.own_options, u->name, u->name_len) == own;
    AUTO_FREE char *name = must(is_known ? strndup(u->name, u->name_len)
                                         : strndup(own->names, strcspn(own->names, " ")));
    add(t, own, name, u->value);
}

/* Write a comment on the options without effect that the last use has noted. */
static void note_lists(struct translation *t)
{
    if (t->c.for_job)
        fprintf(t->notes, "# %s is for the command that submits the job\n", t->c.for_job);
    if (t->c.no_effect)
        fprintf(t->notes, "# %s has no effect\n", t->c.no_effect);
    free(t->c.for_job);
    free(t->c.no_effect);
    t->c.for_job = t->c.no_effect = NULL;
}

static bool is_named(const struct option_use *u, const char *name)
{
    return options_find(u->def, name, strlen(name)) == u->def;
}

/* The option that is argv[from..to). */
static int translate_option(struct translation *t, const struct option_use *u, int from, int to,
                            char *const argv[], struct error *err)
{
    bool is_mca = u->def->apply == cmdline_apply_mca || u->def->apply == cmdline_apply_gmca;
    if (is_named(u, "--translate") || is_named(u, "--as") || cmdline_is_needless(u->def))
        return 0;
    if (t->is_further && !cmdline_is_app_option(u->def))
        return 0; /* a switch that the first part has */
    t->has_program_file |= is_named(u, "--app");
    t->has_translated = false;
    if (options_parse(t->said->reading.options, to, argv, from, &t->c, err) < 0)
        return -1;
    bool is_done = t->has_translated || u->def->kind == OPTION_NOTED || (is_mca && t->c.no_effect);
    note_lists(t);
    if (!is_done)
        keep_option(t, u);
    return 0;
}

/* The options from argv[at] on: the index behind them, or -1. */
static int translate_options(struct translation *t, int argc, char *const argv[], int at,
                             struct error *err)
{
    struct option_use use;
    for (;;) {
        int from = at, rc = options_next(t->said->reading.options, argc, argv, &at, &use, err);
        if (rc > 0 && translate_option(t, &use, from, at, argv, err) < 0)
            rc = -1;
        free(use.joined);
        if (rc == 0 && !t->has_subcommand && cmdline_is_subcommand(&t->c, argc, argv, at)) {
            t->has_subcommand = strcmp(argv[at], "run") == 0;
            at++;
        } else if (rc <= 0)
            return rc < 0 ? -1 : at;
    }
}

/* Hosts and variables that stand before the program, as mpirun_rsh has them: the index behind them,
 * or -1. */
static int translate_bare_words(struct translation *t, int argc, char *const argv[], int at,
                                struct error *err)
{
    int end =
        t->said->reading.has_bare_hosts ? cmdline_take_bare_hosts(&t->c, argc, argv, at, err) : at;
    for (; at < end; at++)
        translation_add(t, "--host", argv[at]);
    for (; end >= 0 && cmdline_has_bare_variable(&t->c, argc, argv, end); end++)
        translation_add(t, "-x", argv[end]);
    return end;
}

/* The number of ranks that a line of srun without it has from the job, or one on each node. */
static void add_srun_ranks(struct translation *t)
{
    const struct cmdline *said = t->said;
    char n[16];
    if (said->napps != 1 || t->c.apps[0].nranks || t->c.place.per_host)
        return;
    snprintf(n, sizeof(n), "%u", said->nranks ? said->nranks : said->place.per_host);
    if (said->nranks)
        fprintf(t->notes, "# the variable SLURM_NTASKS says -n %s\n", n);
    if (said->nranks || said->place.per_host)
        translation_add(t, said->nranks ? "-n" : "--npernode", n);
}

/* srun's cores of a rank, and how it deals ranks to hosts and packages. */
static void add_srun_placement(struct translation *t, const struct placement_options *place)
{
    struct binding_request b = place->bind;
    char cores[24], how[64];
    placement_take_defaults(DIALECT_SRUN, place, 0, &b);
    if (b.threads)
        snprintf(cores, sizeof(cores), ":pe=%u,hwtcpus", b.cores);
    else
        snprintf(cores, sizeof(cores), "%u%s", b.cores, b.by_threads ? "t" : "");
    if (b.cores)
        translation_add(t, b.threads ? "--map-by" : "--cpus-per-rank", cores);
    if (b.to != place->bind.to)
        translation_add(t, "--cpu-bind", "cores");
    if (place->in_sequence || place->rank_file)
        return;
    const char *parts = b.map == LEVEL_PACKAGE && b.in_turn ? ":cyclic" : "";
    if (place->turn > 1)
        snprintf(how, sizeof(how), "plane=%u%s", place->turn, parts);
    else
        snprintf(how, sizeof(how), "%s%s",
                 place->turn    ? "cyclic"
                 : place->packs ? "block"
                                : "even",
                 parts);
    translation_add(t, "--distribution", how);
}

static void add_defaults(struct translation *t, size_t part, const struct placement_options *place)
{
    if (t->said->dialect == DIALECT_SRUN) {
        add_srun_placement(t, place);
        return;
    }
    struct binding_request b = place->bind;
    bool is_mapped = b.map != LEVEL_NONE;
    placement_take_defaults(t->said->dialect, place, t->said->nranks ? t->said->nranks : UINT32_MAX,
                            &b);
    bool is_added = !is_mapped && b.map != LEVEL_NONE;
    if (is_added)
        translation_add(t, "--map-by", cmdline_level_word(b.map));
    if (part > 0 && t->has_default_map && b.map == LEVEL_NONE && !place->says_map)
        translation_add(t, "--map-by", "slot");
    t->has_default_map |= is_added;
    if (b.by_threads && !place->bind.by_threads)
        translation_add(t, "--bind-to", "core");
    if (b.to != place->bind.to) {
        char how[64];
        snprintf(how, sizeof(how), "%s%s", cmdline_level_word(b.to),
                 b.if_supported ? ":if-supported" : "");
        t->has_default_to |= b.if_supported;
        translation_add(t, "--bind-to", how);
    }
    if (part == 0 && b.map != LEVEL_NONE && b.in_turn && !place->bind.in_turn && !place->turn &&
        !place->span)
        translation_add(t, "--rank-by", "slot");
}

/* ---- the line -------------------------------------------------------------------------------- */

static void begin_part(struct translation *t)
{
    for (size_t i = 0; i < t->noptions; i++)
        free(t->options[i].text);
    t->noptions = 0;
    free(t->c.apps[0].env);
    free((void *)(uintptr_t)t->c.place.excluded);
    t->c.apps[0] = (struct cmdline_app){.nranks = 0};
    t->c.reading.app = t->c.apps;
    t->c.place = option_defaults.place;
}

/* Add the options that variables of the other launcher set, which mprun does not read. */
static void add_variables(struct translation *t)
{
    const struct settings *s = &t->said->settings;
    for (size_t i = 0; i < s->n; i++) {
        const struct setting *one = &s->list[i];
        bool is_apart = t->said->dialect == DIALECT_SRUN || t->said->dialect == DIALECT_MPIEXEC ||
                        strncmp(one->source, "I_MPI_PIN", 9) == 0;
        if (one->kind != SETTING_OTHER_LAUNCHERS || !one->counts || !is_apart)
            continue;
        fprintf(t->notes, "# the variable %s says %s\n", one->source, one->words);
        if (t->said->dialect == DIALECT_SRUN && strncmp(one->words, "--cpus-per-rank", 15) == 0)
            continue; /* add_srun_placement() has it */
        keep(t, one->option, must(strdup(one->words)));
        if (t->said->place.in_sequence && strcmp(one->source, "SLURM_HOSTFILE") == 0)
            translation_add(t, "--map-by", "seq");
    }
}

/* The part from argv[at] on: the index of its ":", argc, or -1. */
static int translate_part(struct translation *t, size_t part, int argc, char *const argv[], int at,
                          struct error *err)
{
    const struct cmdline_app *said = part < t->said->napps ? &t->said->apps[part] : NULL;
    begin_part(t);
    t->has_subcommand |= part > 0;
    t->is_further = part > 0;
    at = translate_options(t, argc, argv, at, err);
    if (at >= 0 && cmdline_settle_cpus(&t->c, err) < 0)
        at = -1;
    if (at >= 0)
        at = translate_bare_words(t, argc, argv, at, err);
    if (at < 0 || cmdline_settle_sets(&t->c, err) < 0 ||
        (t->said->napps == 1 && cmdline_take_flux_ranks(&t->c, err) < 0) ||
        (t->said->napps == 1 && cmdline_take_gpu_ranks(&t->c, err) < 0))
        return -1;
    if (part == 0)
        add_variables(t);
    if (t->said->dialect == DIALECT_SRUN)
        add_srun_ranks(t);
    if (part == 0 || (said && said->place))
        add_defaults(t, part, said && said->place ? said->place : &t->said->place);
    for (size_t i = 0; i < t->noptions; i++)
        fprintf(t->line, " %s", t->options[i].text);
    if (at < argc && argv[at][0] == '-')
        fprintf(t->line, " --");
    for (; at < argc && strcmp(argv[at], ":") != 0; at++)
        print_quoted(t->line, argv[at]);
    return at;
}

/* Write a comment on each difference that the line cannot show. */
static void note_differences(const struct translation *t)
{
    const struct cmdline *said = t->said;
    if (t->has_program_file && said->dialect != DIALECT_MPRUN)
        fprintf(t->notes, "# the lines of the file of programs are in %s's words; translate each\n",
                dialect_words[said->dialect]);
    if (said->dialect == DIALECT_SRUN)
        fprintf(t->notes, "# ranks have MPRUN_RANK and others; SLURM_PROCID, SLURM_LOCALID and "
                          "others only with '--as srun'\n");
    if (said->dialect == DIALECT_MPIEXEC && (said->hosts.nlists || said->hosts.nfiles))
        fprintf(t->notes,
                "# for more ranks than slots Hydra goes round these hosts: add --oversubscribe "
                "--map-by node, or --distribution plane=N for N slots each\n");
    if (t->has_default_to)
        fprintf(t->notes, "# mpirun binds so from 3 ranks on, fewer to cores, and none where there "
                          "are more ranks than cores\n");
    if (said->no_effect && strstr(said->no_effect, "'I_MPI_"))
        fprintf(t->notes, "# variables I_MPI_... have no effect on mprun: %s\n", said->no_effect);
}

static int translate(struct translation *t, int argc, char *const argv[], struct error *err)
{
    int at = 1;
    for (size_t part = 0; at < argc || part == 0; part++, at++) {
        at = translate_part(t, part, argc, argv, at, err);
        if (at < 0)
            return -1;
        if (at < argc)
            fprintf(t->line, " :");
    }
    if (t->c.stdin_file) {
        fprintf(t->line, " <");
        print_quoted(t->line, t->c.stdin_file);
    }
    note_differences(t);
    return 0;
}

int cmdline_translate(const struct cmdline *said, int argc, char *const argv[], FILE *out,
                      struct error *err)
{
    struct translation t = {.said = said, .c = option_defaults};
    char *line = NULL, *notes = NULL;
    size_t len;
    t.c.dialect = said->dialect;
    t.c.reading.translation = &t;
    t.c.reading.note_applied = translation_add;
    cmdline_add_app(&t.c);
    t.line = must(open_memstream(&line, &len));
    t.notes = must(open_memstream(&notes, &len));
    cmdline_make_own_options(&t.c);
    int rc = translate(&t, argc, argv, err);
    fclose(t.line);
    fclose(t.notes);
    if (rc == 0)
        fprintf(out, "%smprun%s\n", notes, line);
    free(line);
    free(notes);
    for (size_t i = 0; i < t.noptions; i++)
        free(t.options[i].text);
    free(t.options);
    cmdline_free(&t.c);
    return rc;
}
