/* SPDX-License-Identifier: BSD-3-Clause */
/* named-options.c - options that are applied by name, and which of them a line has */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/text/text.h"
#include "launcher/cmdline/cmdline-private.h"

const char *cmdline_keep(struct cmdline *c, char *text)
{
    c->texts = must(reallocarray(c->texts, c->ntexts + 1, sizeof(*c->texts)));
    return c->texts[c->ntexts++] = must(text);
}

int cmdline_apply_named(struct cmdline *c, const char *name, const char *value, struct error *err)
{
    const char *word =
        cmdline_keep(c, text_format("%s%s%s", name, value ? "=" : "", value ? value : ""));
    char *const argv[] = {(char *)(uintptr_t)word};
    struct translation *t = c->reading.translation;
    c->reading.translation = NULL; /* what the option does by others is part of it */
    int rc = options_parse(c->reading.own_options, 1, argv, 0, c, err) == 1 ? 0 : -1;
    c->reading.translation = t;
    if (rc == 0 && t)
        c->reading.note_applied(t, name, value);
    return rc;
}

int cmdline_apply_number(struct cmdline *c, const char *name, uint64_t n, struct error *err)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
    return cmdline_apply_named(c, name, text, err);
}

/* Has an option of another dialect a long name of this one? */
static bool has_name_of(const struct cmdline *c, const struct option_def *d,
                        const struct option_def *own)
{
    for (const char *at = d->names; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strncmp(at, "--", 2) == 0 &&
            options_find(c->reading.own_options, at, strcspn(at, " ")) == own)
            return true;
    return false;
}

static bool is_used(const struct cmdline *c, const struct option_def *d,
                    const struct option_def *own)
{
    for (; d->names; d++)
        if (d->used && *d->used && (options_are_same(d, own) || has_name_of(c, d, own)))
            return true;
    return false;
}

bool cmdline_uses(const struct cmdline *c, const struct option_def *own)
{
    return c->reading.own_used[own - c->reading.own_options] || is_used(c, c->reading.options, own);
}

bool cmdline_uses_later(const struct cmdline *c, const struct option_def *own)
{
    const bool *used = c->reading.own_later_used;
    return (used && used[own - c->reading.own_options]) || is_used(c, c->reading.later, own);
}

const char *cmdline_setting_for(const struct cmdline_app *app, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (size_t i = 0; i < app->nenv; i++)
        if (strncmp(app->env[i], entry, len) == 0 && app->env[i][len] == '=')
            return app->env[i];
    return NULL;
}

struct cmdline_app *cmdline_add_app(struct cmdline *c)
{
    c->apps = must(reallocarray(c->apps, c->napps + 1, sizeof(*c->apps)));
    c->apps[c->napps] = (struct cmdline_app){.nranks = 0};
    return &c->apps[c->napps++];
}
