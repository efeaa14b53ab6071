/* SPDX-License-Identifier: BSD-3-Clause */
/* other-launchers-values.c - options of other launchers that say what mprun says in another way
 *
 * Open MPI's --mca, Hydra's -genv, srun's --export, and switches that ask for what mprun does
 * anyhow. A value that mprun cannot obey is an error; none is ignored. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "common/text/text.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"

/* ---- variables ------------------------------------------------------------------------------- */

/* "NAME=VALUE" of len bytes, with `before` in front of its name. */
static int set_variable(struct cmdline *c, struct cmdline_app *app, const char *before,
                        const char *value, size_t len, struct error *err)
{
    const char *kept = cmdline_keep(c, text_format("%s%.*s", before, (int)len, value));
    return cmdline_set_variable(app, kept, err);
}

int cmdline_apply_mca(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (mca_is_launchers(value))
        return mca_apply_to_launcher(c, value, err);
    return set_variable(c, c->reading.app, "OMPI_MCA_", value, strlen(value), err);
}

int cmdline_apply_gmca(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (mca_is_launchers(value))
        return mca_apply_to_launcher(c, value, err);
    return set_variable(c, &c->reading.all_apps, "OMPI_MCA_", value, strlen(value), err);
}

int cmdline_apply_pair(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    return set_variable(c, c->reading.app, "", value, strlen(value), err);
}

int cmdline_apply_genv(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    return set_variable(c, &c->reading.all_apps, "", value, strlen(value), err);
}

static bool is_word(const char *at, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(at, word, len) == 0;
}

/* A list of names of variables that ranks keep, and of settings; ALL, NONE and NIL are words of
 * srun's. */
static int keep_list(struct cmdline *c, struct cmdline_app *app, const char *value, bool *ret_all,
                     struct error *err)
{
    for (const char *at = value;; at++) {
        size_t len = strcspn(at, ",");
        if (ret_all && is_word(at, len, "ALL"))
            *ret_all = true;
        else if (len && !(ret_all && (is_word(at, len, "NONE") || is_word(at, len, "NIL"))) &&
                 set_variable(c, app, "", at, len, err) < 0)
            return -1;
        at += len;
        if (!*at)
            return 0;
    }
}

int cmdline_apply_export(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    bool all = false;
    if (!*value)
        return error_set(err, EINVAL,
                         "the list is empty; is a variable unset? Write 'NONE' for no variables");
    if (keep_list(c, &c->reading.all_apps, value, &all, err) < 0)
        return -1;
    c->reading.all_apps.only = !all;
    return 0;
}

int cmdline_apply_genvlist(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->reading.all_apps.only = true;
    return value ? keep_list(c, &c->reading.all_apps, value, NULL, err) : 0;
}

int cmdline_apply_envlist(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->reading.app->only = true;
    return value ? keep_list(c, c->reading.app, value, NULL, err) : 0;
}

int cmdline_apply_marked(void *target, const char *mark, const char *value, struct error *err)
{
    struct cmdline *c = target;
    bool is_removed = *mark == '-';
    if (is_removed && strpbrk(value, "*?["))
        return error_set(err, EINVAL, "'%.60s' is a pattern; name each variable", value);
    const char *separator = strchr(value, '[');
    if (!is_removed && separator && separator < strchr(value, '='))
        return error_set(
            err, EINVAL,
            "'%.60s': a colon is put between the values; write the name without '[...]'", value);
    if (value[strcspn(value, "=")] != (is_removed ? 0 : '=') || !*value || *value == '=')
        return error_set(err, EINVAL, "'%.60s' is not %s", value,
                         is_removed ? "the name of a variable" : "NAME=VALUE");
    size_t name = strcspn(value, "=");
    for (size_t i = 0; !is_removed && i < c->reading.app->nenv; i++)
        if (c->reading.app->env[i][0] == *mark &&
            strncmp(c->reading.app->env[i] + 1, value, name + 1) == 0 &&
            strcmp(c->reading.app->env[i] + 1, value) != 0)
            return error_set(err, EINVAL, "'%.*s' is extended twice; put both values into one",
                             (int)(name < 60 ? name : 60), value);
    cmdline_add_variable(c->reading.app, cmdline_keep(c, text_format("%s%s", mark, value)));
    return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

int cmdline_apply_kill_on_bad_exit(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    bool is_on = !value || strcmp(value, "1") == 0;
    if (!is_on && strcmp(value, "0") != 0)
        return error_set(err, EINVAL, "'%.60s' is neither 0 nor 1", value);
    *(is_on ? &c->reading.no_recovery : &c->recovery) = true;
    return 0;
}

int cmdline_take_flux_ranks(struct cmdline *c, struct error *err)
{
    if (c->dialect != DIALECT_FLUX || c->napps != 1 || c->apps[0].nranks || c->place.per_host)
        return 0;
    c->reading.app = c->apps;
    return cmdline_apply_number(c, "--np", c->place.nodes_max ? c->place.nodes_max : 1, err);
}
