/* SPDX-License-Identifier: BSD-3-Clause */
/* option-values.c - words, counts and variables as values of several options */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"

int cmdline_each_item(const char *list, const char *separator,
                      int (*take)(void *arg, char *item, struct error *err), void *arg,
                      struct error *err)
{
    AUTO_FREE char *copy = must(strdup(list));
    char *rest = copy;
    for (char *item; (item = strsep(&rest, separator));)
        if (take(arg, item, err) < 0)
            return -1;
    return 0;
}

int cmdline_each_word(const char *value, const char *const words[],
                      int (*take)(struct cmdline *c, int word, struct error *err),
                      struct cmdline *c, struct error *err)
{
    for (;; value++) {
        size_t len = strcspn(value, ",");
        int word = option_word(value, len, words, err);
        if (word < 0 || take(c, word, err) < 0)
            return -1;
        value += len;
        if (!*value)
            return 0;
    }
}

int cmdline_apply_other(void *target, const char *other, const char *value, struct error *err)
{
    size_t name = strcspn(other, " ");
    const char *how = other + name + (other[name] == ' ');
    size_t before = strcspn(how, "@");
    bool has_place = how[before] == '@';
    AUTO_FREE char *option = must(strndup(other, name));
    AUTO_FREE char *text = text_format("%.*s%s%s", (int)before, how, has_place ? value : "",
                                       has_place ? how + before + 1 : "");
    return cmdline_apply_named(target, option, *how ? text : NULL, err);
}

int cmdline_set_count(uint32_t *count, const char *value, size_t len, struct error *err)
{
    AUTO_FREE char *text = must(strndup(value, len));
    int64_t n;
    if (number_parse(text, NULL, 1, CMDLINE_RANKS_MAX, &n, err) < 0)
        return -1;
    if (*count && *count != (uint32_t)n)
        return error_set(err, EINVAL,
                         "'%s' contradicts the %" PRIu32 " of another option; keep one", text,
                         *count);
    *count = (uint32_t)n;
    return 0;
}

/* The level before the colon of "rank:mem"; *name goes behind it. */
static int limit_level(const char **name, size_t len, struct error *err)
{
    const char *words[LIMIT_LEVEL_COUNT + 1] = {0}, *colon = memchr(*name, ':', len);
    for (int level = 0; level < LIMIT_LEVEL_COUNT; level++)
        words[level] = limit_level_text((enum limit_level)level);
    if (!colon)
        return LIMIT_OF_STEP;
    int level = option_word(*name, (size_t)(colon - *name), words, err);
    *name = colon + 1;
    return level;
}

/* The kind of limit with a name of len bytes; -1 with err. */
static int limit_kind(const char *name, size_t len, enum limit_level level, struct error *err)
{
    const char *words[LIMIT_KIND_COUNT + 1] = {0};
    int kinds[LIMIT_KIND_COUNT], n = 0;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        if (limit_words((enum limit_kind)k)->word) {
            kinds[n] = k;
            words[n++] = limit_words((enum limit_kind)k)->word;
        }
    int i = option_word(name, len, words, err);
    if (i >= 0 && !limit_words((enum limit_kind)kinds[i])->holders[level])
        return error_set(err, EINVAL, "'%s' is a limit of ranks alone; write 'rank:%s=AMOUNT'",
                         words[i], words[i]);
    return i < 0 ? -1 : kinds[i];
}

int cmdline_set_limit(struct cmdline *c, enum limit_level level, enum limit_kind k,
                      const struct limit *l, struct error *err)
{
    struct limits *const limits[LIMIT_LEVEL_COUNT] = {&c->step_limits, &c->step.host_limits,
                                                      &c->step.rank_limits};
    struct limit *to = &limits[level]->of[k];
    const struct settings *from = &c->settings;
    char amount[40];
    if (to->set && from->source && from->yields && c->reading.limits_from[level][k] != from->source)
        return 0;
    if (to->set && to->value != l->value && !c->reading.limits_from[level][k]) {
        limit_format(k, to->value, amount, sizeof(amount));
        return error_set(err, EINVAL, "'%s%s%s' is %s already; keep one",
                         level == LIMIT_OF_STEP ? "" : limit_level_text(level),
                         level == LIMIT_OF_STEP ? "" : ":", limit_words(k)->word, amount);
    }
    *to = *l;
    c->reading.limits_from[level][k] = from->source;
    if (level == LIMIT_OF_STEP)
        limits_hold_without_cgroup(limits[level], LIMIT_OF_STEP);
    return 0;
}

/* "rank:mem=1G" */
static int take_limit(void *target, char *item, struct error *err)
{
    struct cmdline *c = target;
    struct limit l = {.set = 0};
    const char *name = item, *equals = strchrnul(item, '=');
    int level = limit_level(&name, (size_t)(equals - item), err);
    size_t n = (size_t)(equals - name);
    int k = level < 0 ? -1 : limit_kind(name, n, (enum limit_level)level, err);
    if (k < 0)
        return -1;
    if (!*equals)
        return error_set(err, EINVAL, "'%s' has no value; write '%s=AMOUNT'", item, item);
    if (limit_parse((enum limit_kind)k, equals + 1, &l, err) < 0)
        return -1;
    return cmdline_set_limit(c, (enum limit_level)level, (enum limit_kind)k, &l, err);
}

int cmdline_apply_limit(void *target, const char *value, struct error *err)
{
    return cmdline_each_item(value, ",", take_limit, target, err);
}

/* Has the app a setting of the same variable that contradicts this one? */
static const char *other_setting(const struct cmdline_app *app, const char *value, size_t len)
{
    for (size_t i = 0; i < app->nenv; i++)
        if (strncmp(app->env[i], value, len) == 0 && app->env[i][len] == '=' && value[len] == '=' &&
            strcmp(app->env[i], value) != 0)
            return app->env[i];
    return NULL;
}

/* Is this variable mprun's to set? What a user set would be replaced in every rank. */
static bool is_own_variable(const char *value)
{
    static const char *const prefixes[] = {"MPRUN_",          "PMI_",
                                           "PMIX_",           "OMPI_COMM_WORLD_",
                                           "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                                           "MV2_COMM_WORLD_", NULL};
    return strncmp(value, "PMIX_MCA_", 9) != 0 && begins_with_any(value, prefixes);
}

int cmdline_set_variable(struct cmdline_app *app, const char *value, struct error *err)
{
    size_t len = strcspn(value, "=");
    if (len == 0)
        return error_set(err, EINVAL, "'%.60s' names no variable; write NAME or NAME=VALUE", value);
    if (strcspn(value, ", \t\n") < len)
        return error_set(err, EINVAL,
                         "'%.*s' is no name of one variable; give -x once for each variable",
                         (int)(len < 60 ? len : 60), value);
    if (value[len] && len == 6 && memcmp(value, "TMPDIR", 6) == 0)
        return error_set(err, EINVAL,
                         "'TMPDIR' is set by mprun, to a directory that is removed at the end; for "
                         "another write: mprun sh -c 'TMPDIR=%.60s exec ./a'",
                         value + 7);
    if (value[len] && is_own_variable(value))
        return error_set(err, EINVAL,
                         "'%.*s' is set by mprun for each rank; mprun(1) lists the variables",
                         (int)(len < 60 ? len : 60), value);
    for (size_t i = 0; i < app->nenv; i++)
        if (strcmp(app->env[i], value) == 0)
            return 0;
    const char *other = other_setting(app, value, len);
    if (other)
        return error_set(err, EINVAL, "'%.60s' contradicts '%.60s'; keep one", value, other);
    cmdline_add_variable(app, value);
    return 0;
}

void cmdline_add_variable(struct cmdline_app *app, const char *entry)
{
    app->env = must(reallocarray(app->env, app->nenv + 1, sizeof(*app->env)));
    app->env[app->nenv++] = entry;
}
