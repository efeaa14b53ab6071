/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline-peers.c - options of other launchers that say what mprun says in another way
 *
 * Open MPI's --mca, Hydra's -genv, srun's --cpu-bind and --export, and switches that ask
 * for what mprun does anyhow. What cannot be meant here is an error, never left out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/cmdline-private.h"

#include "common/cleanup.h"

/* A string of the line's own for what no word of argv is. takes text; NULL: out of memory. */
static const char *keep(struct cmdline *c, char *text, struct error *err)
{
    char **grown = text ? reallocarray(c->texts, c->ntexts + 1, sizeof(*grown)) : NULL;
    if (!grown) {
        free(text);
        error_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    c->texts = grown;
    return c->texts[c->ntexts++] = text;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* "NAME=VALUE" of len bytes, with `before` in front of its name. */
static int set_variable(struct cmdline *c, struct cmdline_app *app, const char *before,
                        const char *value, size_t len, struct error *err)
{
    char *text = NULL;
    if (asprintf(&text, "%s%.*s", before, (int)len, value) < 0)
        text = NULL;
    const char *kept = keep(c, text, err);
    return kept ? cmdline_set_variable(app, kept, err) : -1;
}

int cmdline_apply_mca(void *target, const char *value, struct error *err)
{
    struct cmdline_target *t = target;
    return set_variable(t->line, t->app, "OMPI_MCA_", value, strlen(value), err);
}

int cmdline_apply_gmca(void *target, const char *value, struct error *err)
{
    struct cmdline *c = ((struct cmdline_target *)target)->line;
    return set_variable(c, &c->all_apps, "OMPI_MCA_", value, strlen(value), err);
}

int cmdline_apply_pair(void *target, const char *value, struct error *err)
{
    struct cmdline_target *t = target;
    return set_variable(t->line, t->app, "", value, strlen(value), err);
}

int cmdline_apply_genv(void *target, const char *value, struct error *err)
{
    struct cmdline *c = ((struct cmdline_target *)target)->line;
    return set_variable(c, &c->all_apps, "", value, strlen(value), err);
}

static int is_word(const char *at, size_t len, const char *word)
{
    return len == strlen(word) && strncmp(at, word, len) == 0;
}

/* "ALL,NAME=VALUE,NAME": without ALL srun passes nothing else, which is not to be had here. */
int cmdline_apply_export(void *target, const char *value, struct error *err)
{
    struct cmdline *c = ((struct cmdline_target *)target)->line;
    int all = 0;
    for (const char *at = value;; at++) {
        size_t len = strcspn(at, ",");
        if (is_word(at, len, "ALL"))
            all = 1;
        else if (memchr(at, '=', len) && set_variable(c, &c->all_apps, "", at, len, err) < 0)
            return -1;
        at += len;
        if (!*at)
            break;
    }
    if (all)
        return 0;
    return error_set(err, EINVAL,
                     "'%.60s' is without ALL, but ranks get mprun's whole environment; write "
                     "'ALL,NAME=VALUE' to set a variable, and start mprun by 'env -i' for an empty "
                     "environment",
                     value);
}

/* ---- cores and the end ----------------------------------------------------------------------- */

int cmdline_apply_cpu_bind(void *target, const char *value, struct error *err)
{
    static const char *const words[] = {"none", "no", "cores", "core", NULL};
    struct cmdline *c = ((struct cmdline_target *)target)->line;
    size_t len = strcspn(value, ",");
    int is_verbose = is_word(value, len, "verbose") || is_word(value, len, "v");
    if (is_verbose)
        c->report_bindings = 1;
    if (is_verbose && !value[len])
        return 0;
    if (value[len] && (is_verbose || is_word(value, len, "quiet") || is_word(value, len, "q")))
        value += len + 1;
    int i = cmdline_choice(value, words, err);
    if (i < 0)
        return -1;
    c->bind = i < 2 ? BIND_NONE : BIND_CORE;
    return 0;
}

int cmdline_apply_kill_on_bad_exit(void *target, const char *value, struct error *err)
{
    if (!value || strcmp(value, "1") == 0)
        return 0;
    return error_set(err, EINVAL,
                     "'%.60s' is not in this release: when a rank fails, the step ends", value);
}
