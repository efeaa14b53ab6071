/* SPDX-License-Identifier: BSD-3-Clause */
/* peer-table.c - the tables of doc/migrating.md: what mprun makes of each option of other launchers
 *
 * Reads options.txt on standard input. Fails if mprun does not know an option. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/cmdline/cmdline.h"

enum { NAMES_MAX = 8192, GROUPS_MAX = 256 };

/* Options of which mprun says the same. */
struct group {
    const struct option_def *def;
    char names[NAMES_MAX];
};

static struct group groups[GROUPS_MAX];
static size_t ngroups;
static struct option_def *defs; /* of the dialect */
static bool failed;

static bool is_refused(const struct option_def *d)
{
    return !d->apply && d->kind == OPTION_APPLIED;
}

/* mprun's own, in all dialects. */
static bool is_same(const struct option_def *d)
{
    return !is_refused(d) && d->group && !d->variants;
}

static bool belongs(const struct option_def *a, const struct option_def *b)
{
    return (is_same(a) && is_same(b)) ||
           (is_refused(a) == is_refused(b) && is_same(a) == is_same(b) &&
            strcmp(a->help, b->help) == 0);
}

static void add(const char *name)
{
    const struct option_def *d = options_find(defs, name, strlen(name));
    size_t i = 0;
    if (!d) {
        fprintf(stderr, "mprun has no entry for '%s'\n", name);
        failed = true;
        return;
    }
    while (i < ngroups && !belongs(groups[i].def, d))
        i++;
    if (i == GROUPS_MAX)
        exit(1);
    if (i == ngroups)
        groups[ngroups++] = (struct group){.def = d};
    size_t n = strlen(groups[i].names);
    snprintf(groups[i].names + n, NAMES_MAX - n, "%s`%s`", n ? ", " : "", name);
}

static void print_row(const struct group *g, const char *how)
{
    printf("| %s | %s | ", g->names, how);
    for (const char *at = g->def->help; *at; at++)
        printf("%s%c", *at == '|' ? "\\" : "", *at);
    printf(" |\n");
}

/* In the order: the same, others that do something, without effect, refused. */
static void end_peer(void)
{
    if (ngroups)
        printf("| options | here | |\n|---|---|---|\n");
    for (size_t i = 0; i < ngroups; i++)
        if (is_same(groups[i].def))
            printf("| %s | the same | |\n", groups[i].names);
    for (size_t i = 0; i < ngroups; i++)
        if (!is_refused(groups[i].def) && !is_same(groups[i].def) &&
            groups[i].def->kind != OPTION_NOTED)
            print_row(&groups[i], "translated");
    for (size_t i = 0; i < ngroups; i++)
        if (groups[i].def->kind == OPTION_NOTED)
            print_row(&groups[i], "accepted");
    for (size_t i = 0; i < ngroups; i++)
        if (is_refused(groups[i].def))
            print_row(&groups[i], "refused");
    ngroups = 0;
}

static void begin_peer(const char *line)
{
    char word[32] = "";
    int n = 0;
    enum dialect d;
    end_peer();
    if (sscanf(line, "= %31s %n", word, &n) != 1 || !dialect_named(word, &d))
        exit(1);
    free(defs);
    defs = dialect_options(cmdline_options(), cmdline_peer_options(), d);
    printf("\n### %s: `--as %s`\n\n", line + n, word);
}

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '=')
            begin_peer(line);
        else if (line[0] == '-')
            for (char *name = strtok(line, " "); name; name = strtok(NULL, " "))
                add(name);
    }
    end_peer();
    free(defs);
    return failed;
}
