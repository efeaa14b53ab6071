/* SPDX-License-Identifier: BSD-3-Clause */
/* complete.c - mprun --complete: what may stand in the last word of a line, for shells
 *
 * A line of output is a word, and behind a tab what it means; or a name with "@" for what the shell
 * itself knows how to complete: "@files" and the like. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "launcher/cmdline/cmdline-private.h"

/* By the argument of an option. */
static const struct {
    const char *argument, *shell;
} by_shell[] = {
    {"FILE", "@files"},
    {"DIR", "@directories"},
    {"HOSTS", "@hosts"},
    {"HOST", "@hosts"},
    {"CMD", "@commands"},
    {"SIGNAL", "@signals"},
    {"NAME[=VALUE]", "@variables"},
    {"NAME", "@variables"},
};

/* word, of len bytes, behind the part of `typed` that stands before `at`, if it begins as typed. */
static void offer(FILE *out, const char *typed, const char *at, const char *word, size_t len,
                  const char *help)
{
    size_t n = strlen(at);
    if (n <= len && strncmp(word, at, n) == 0)
        fprintf(out, "%.*s%.*s\t%s\n", (int)(at - typed), typed, (int)len, word, help);
}

/* Values that begin with `value`, which is the end of `typed`; of lists the last one. */
static void complete_value(const struct option_def *def, const char *typed, const char *value,
                           FILE *out)
{
    const char *comma = strrchr(value, ','), *at = comma ? comma + 1 : value;
    for (size_t i = 0; def->words && def->words[i]; i++)
        offer(out, typed, at, def->words[i], strlen(def->words[i]), "");
    for (size_t i = 0; strncmp(def->argument, "RM", 2) == 0 && rm_adapters[i]; i++)
        offer(out, typed, at, rm_adapters[i]->name, strlen(rm_adapters[i]->name), "");
    for (size_t i = 0; i < sizeof(by_shell) / sizeof(by_shell[0]); i++)
        if (strcmp(def->argument, by_shell[i].argument) == 0)
            fprintf(out, "%s\n", by_shell[i].shell);
}

static void complete_name(const struct option_def *defs, const char *typed, FILE *out)
{
    for (; defs->names; defs++)
        for (const char *at = defs->names; !option_is_refused(defs) && *(at += strspn(at, " "));
             at += strcspn(at, " "))
            offer(out, typed, typed, at, strcspn(at, " "), defs->help);
}

/* A word that is an option, or the program. */
static void complete_word(const struct option_def *defs, const char *typed, FILE *out)
{
    const char *equals = strchr(typed, '=');
    const struct option_def *def =
        equals ? options_find(defs, typed, (size_t)(equals - typed)) : NULL;
    if (def && def->argument && !option_is_refused(def))
        complete_value(def, typed, equals + 1, out);
    else if (typed[0] == '-')
        complete_name(defs, typed, out);
    else
        fprintf(out, "@commands\n");
}

/* The option before the last word, if that may be its value. */
static const struct option_def *option_before(const struct option_def *defs, const char *word)
{
    const struct option_def *def = word[0] == '-' ? options_find(defs, word, strlen(word)) : NULL;
    return def && !option_is_refused(def) && def->argument && strncmp(def->argument, "[=", 2) != 0
               ? def
               : NULL;
}

/* The words before the last one: 1: an option of mprun may follow, or a program; 0: words of a
 * program; -1: the value of an option is missing, or there is a mistake. */
static int skip_words(const struct option_def *defs, int argc, char *const argv[])
{
    struct option_use use;
    struct error err;
    for (int at = 2;; at++) {
        int rc;
        do {
            rc = options_next(defs, argc, argv, &at, &use, &err);
            free(use.joined);
        } while (rc > 0);
        if (rc < 0 || at == argc)
            return rc < 0 ? -1 : 1;
        while (at < argc && strcmp(argv[at], ":") != 0)
            at++;
        if (at == argc)
            return 0;
    }
}

static void complete(const struct option_def *defs, int argc, char *const argv[], FILE *out)
{
    int last = argc - 1, where = skip_words(defs, last, argv);
    const struct option_def *before =
        where != 0 && last > 2 ? option_before(defs, argv[last - 1]) : NULL;
    if (where == 0)
        fprintf(out, "@files\n");
    if (where > 0)
        complete_word(defs, argv[last], out);
    if (before && (where < 0 || before->argument[0] == '['))
        complete_value(before, argv[last], argv[last], out);
}

void cmdline_complete(int argc, char *const argv[], FILE *out)
{
    struct dialect_use use;
    if (argc < 3)
        return;
    (void)dialect_find(argc - 1, argv, &use, NULL); /* a wrong word leaves the program's own */
    AUTO_FREE struct option_def *defs =
        dialect_options(cmdline_options(),
                        use.dialect == DIALECT_MPRUN ? NULL : cmdline_peer_options(), use.dialect);
    complete(defs, argc, argv, out);
}
