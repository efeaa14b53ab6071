/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/option-names.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/files/fdio.h"

/* Names, each between blanks: " -n --np ... " */
struct names {
    char text[16384];
};

static void add_name(struct names *n, const char *name, size_t len)
{
    size_t used = strlen(n->text);
    snprintf(n->text + used, sizeof(n->text) - used, "%s%.*s ", used ? "" : " ", (int)len, name);
}

static int has_name(const struct names *n, const char *name, size_t len)
{
    char padded[80];
    snprintf(padded, sizeof(padded), " %.*s ", (int)len, name);
    return strstr(n->text, padded) != NULL;
}

static void assert_subset(const struct names *part, const struct names *whole, const char *why)
{
    const char *at = part->text;
    for (size_t len; at += strspn(at, " "), (len = strcspn(at, " ")) > 0; at += len)
        if (!has_name(whole, at, len))
            fail_msg("'%.*s' %s", (int)len, at, why);
}

static void assert_same(const struct names *listed, const struct names *table, const char *where)
{
    char why[80];
    snprintf(why, sizeof(why), "is an option, but not in %s", where);
    assert_subset(table, listed, why);
    snprintf(why, sizeof(why), "is in %s, but is no option", where);
    assert_subset(listed, table, why);
}

static struct names names_of_table(const struct option_def *d)
{
    struct names n = {""};
    for (; d->names; d++) {
        const char *at = d->names;
        for (size_t len;
             (d->apply || d->kind) && (at += strspn(at, " "), (len = strcspn(at, " ")) > 0);
             at += len)
            add_name(&n, at, len);
    }
    return n;
}

/* "Fl -np" on lines that begin an entry, ".It Fl n , Fl -np Ar N", are "--np". */
static struct names names_of_manual(char *text)
{
    struct names n = {""};
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, ".It Fl ", 7) != 0)
            continue;
        for (char *at = line; (at = strstr(at, "Fl ")); at++) {
            char name[64];
            snprintf(name, sizeof(name), "-%.*s", (int)strcspn(at + 3, " \n"), at + 3);
            add_name(&n, name, strlen(name));
        }
    }
    return n;
}

/* Lines of options begin with two blanks and a dash; lines that continue them with four. */
static struct names names_of_help(char *text)
{
    struct names n = {""};
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        size_t blanks = strspn(line, " ");
        if ((blanks != 2 && blanks != 4) || line[blanks] != '-')
            continue;
        for (char *at = line + blanks; *at == '-';) {
            size_t len = strcspn(at, ", [");
            add_name(&n, at, len);
            at += len + (at[len] == ',') + (at[len] && at[len + 1] == ' ');
        }
    }
    return n;
}

void assert_manual_lists(const struct option_def *defs, const char *page)
{
    const char *source = getenv("MPRUN_SOURCE");
    char path[4096];
    snprintf(path, sizeof(path), "%s/share/man/%s", source ? source : ".", page);
    char *text = file_slurp_at(AT_FDCWD, path, 1 << 20, NULL);
    if (!text)
        fail_msg("cannot read %s", path);
    struct names manual = names_of_manual(text), table = names_of_table(defs);
    free(text);
    assert_same(&manual, &table, page);
}

void assert_help_lists(const struct option_def *defs, const char *help)
{
    char *text = strdup(help);
    assert_non_null(text);
    struct names listed = names_of_help(text), table = names_of_table(defs);
    free(text);
    assert_same(&listed, &table, "--help");
}

static void add_new_names(struct names *seen, const char *at)
{
    for (size_t len; at += strspn(at, " "), (len = strcspn(at, " ")) > 0; at += len) {
        if (has_name(seen, at, len))
            fail_msg("'%.*s' is there twice", (int)len, at);
        add_name(seen, at, len);
    }
}

static void add_variant(struct names *seen, const struct option_def *d, unsigned variants)
{
    for (; d && d->names; d++) {
        if (variants ? !(d->variants & variants) : d->variants != 0)
            continue;
        add_new_names(seen, d->names);
        add_new_names(seen, d->also ? d->also : "");
        assert_non_null(d->help);
        assert_true(d->help[strlen(d->help) - 1] != '.');
    }
}

void assert_names_are_unique(const struct option_def *defs, const struct option_def *more,
                             unsigned variants)
{
    struct names seen = {""};
    add_variant(&seen, defs, variants);
    add_variant(&seen, more, variants);
    assert_true(strlen(seen.text) < sizeof(seen.text) - 100);
}
