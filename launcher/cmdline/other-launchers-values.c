/* SPDX-License-Identifier: BSD-3-Clause */
/* other-launchers-values.c - options of other launchers that say what mprun says in another way
 *
 * Open MPI's --mca and --map-by, Hydra's -genv, srun's --cpu-bind and --export, and switches that
 * ask for what mprun does anyhow. What cannot be meant here is an error, never left out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launcher/cmdline/cmdline-private.h"

/* ---- variables ------------------------------------------------------------------------------- */

/* "NAME=VALUE" of len bytes, with `before` in front of its name. */
static int set_variable(struct cmdline *c, struct cmdline_app *app, const char *before,
                        const char *value, size_t len, struct error *err)
{
    char *text = NULL;
    if (asprintf(&text, "%s%.*s", before, (int)len, value) < 0)
        text = NULL;
    const char *kept = cmdline_keep(c, text, err);
    return kept ? cmdline_set_variable(app, kept, err) : -1;
}

int cmdline_apply_mca(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (mca_is_launchers(value))
        return mca_apply_to_launcher(c, value, err);
    return set_variable(c, c->app, "OMPI_MCA_", value, strlen(value), err);
}

int cmdline_apply_gmca(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (mca_is_launchers(value))
        return mca_apply_to_launcher(c, value, err);
    return set_variable(c, &c->all_apps, "OMPI_MCA_", value, strlen(value), err);
}

int cmdline_apply_pair(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    return set_variable(c, c->app, "", value, strlen(value), err);
}

int cmdline_apply_genv(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    return set_variable(c, &c->all_apps, "", value, strlen(value), err);
}

static bool is_word(const char *at, size_t len, const char *word)
{
    return len == strlen(word) && strncmp(at, word, len) == 0;
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
    if (keep_list(c, &c->all_apps, value, &all, err) < 0)
        return -1;
    c->all_apps.only = !all;
    return 0;
}

int cmdline_apply_genvlist(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->all_apps.only = true;
    return value ? keep_list(c, &c->all_apps, value, NULL, err) : 0;
}

int cmdline_apply_envlist(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->app->only = true;
    return value ? keep_list(c, c->app, value, NULL, err) : 0;
}

/* Keep a setting with a mark, see struct cmdline_app. */
static int set_marked(struct cmdline *c, char mark, const char *value, struct error *err)
{
    char *text = NULL;
    if (value[strcspn(value, "=")] != (mark == '-' ? 0 : '=') || !*value || *value == '=')
        return error_set(err, EINVAL, "'%.60s' is not %s", value,
                         mark == '-' ? "the name of a variable" : "NAME=VALUE");
    if (asprintf(&text, "%c%s", mark, value) < 0)
        text = NULL;
    const char *kept = cmdline_keep(c, text, err);
    const char **grown = kept ? reallocarray(c->app->env, c->app->nenv + 1, sizeof(*grown)) : NULL;
    if (!grown)
        return error_set(err, ENOMEM, "out of memory");
    c->app->env = grown;
    c->app->env[c->app->nenv++] = kept;
    return 0;
}

int cmdline_apply_env_remove(void *target, const char *value, struct error *err)
{
    return set_marked(target, '-', value, err);
}

int cmdline_apply_prepend_env(void *target, const char *value, struct error *err)
{
    return set_marked(target, '<', value, err);
}

int cmdline_apply_append_env(void *target, const char *value, struct error *err)
{
    return set_marked(target, '>', value, err);
}

/* ---- where ----------------------------------------------------------------------------------- */

/* The words before ":pe=" at the beginning of value: how many bytes; 0: they mean nothing here. */
static int map_words(struct cmdline *c, const char *value, size_t *ret_len, struct error *err)
{
    size_t digits;
    *ret_len = 4;
    if (strncasecmp(value, "slot", 4) == 0 || strncasecmp(value, "core", 4) == 0)
        return 0;
    if (strncasecmp(value, "node", 4) == 0) {
        c->cyclic = true;
        return 0;
    }
    *ret_len = 0;
    if (strncasecmp(value, "ppr:", 4) != 0)
        return 0;
    digits = strcspn(value + 4, ":");
    if (strncasecmp(value + 4 + digits, ":node", 5) != 0)
        return 0;
    *ret_len = 4 + digits + 5;
    return cmdline_set_count(&c->per_host, value + 4, digits, err);
}

/* "slot", "core", "node" or "ppr:N:node", and ":pe=M" or nothing. */
int cmdline_apply_map_by(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    size_t len;
    if (map_words(c, value, &len, err) < 0)
        return -1;
    const char *rest = value + len;
    if (len && !*rest)
        return 0;
    if (len && strncasecmp(rest, ":pe=", 4) == 0)
        return cmdline_set_count(&c->step.bind.cores, rest + 4, strlen(rest + 4), err);
    return error_set(err, EINVAL,
                     "'%.60s' is not in this release; write 'slot' or 'core' (hosts are filled in "
                     "order), 'node' (a rank on each host in turn) or 'ppr:N:node' (N ranks on a "
                     "host), with ':pe=M' for M cores a rank",
                     value);
}

/* "block", "cyclic" or "*" over hosts; behind ':', over sockets, block is what binding does anyway,
 * and others are named as without effect. */
int cmdline_apply_distribution(void *target, const char *value, struct error *err)
{
    static const char *const words[] = {"block", "cyclic", "*", NULL};
    struct cmdline *c = target;
    size_t len = value ? strcspn(value, ":,") : 0;
    int i = value ? option_word(value, len, words, err) : 1; /* none: --bynode */
    if (i < 0)
        return -1;
    c->cyclic = i == 1;
    const char *rest = value && value[len] ? value + len + 1 : "";
    if (!*rest || strcmp(rest, "block") == 0 || strcmp(rest, "*") == 0 ||
        strcmp(rest, "block:block") == 0)
        return 0;
    return cmdline_add_name(&c->no_effect, value + len, strlen(value + len), err);
}

/* ---- cores and the end ----------------------------------------------------------------------- */

int cmdline_apply_cpu_bind(void *target, const char *value, struct error *err)
{
    static const char *const words[] = {"none", "no", "cores", "core", NULL};
    struct cmdline *c = target;
    size_t len = strcspn(value, ",");
    int is_verbose = is_word(value, len, "verbose") || is_word(value, len, "v");
    if (is_verbose)
        c->report_bindings = 1;
    if (is_verbose && !value[len])
        return 0;
    if (value[len] && (is_verbose || is_word(value, len, "quiet") || is_word(value, len, "q")))
        value += len + 1;
    int i = option_word(value, strlen(value), words, err);
    if (i < 0)
        return -1;
    c->step.bind.policy = i < 2 ? BIND_NONE : BIND_CORE;
    return 0;
}

int cmdline_apply_kill_on_bad_exit(void *target, const char *value, struct error *err)
{
    if (!value || strcmp(value, "1") == 0)
        return 0;
    if (strcmp(value, "0") != 0)
        return error_set(err, EINVAL, "'%.60s' is neither 0 nor 1", value);
    ((struct cmdline *)target)->recovery = true;
    return 0;
}
