/* SPDX-License-Identifier: BSD-3-Clause */
/* program-environment.c - the environment of a program's ranks: mprun's own with what the user has
 * set and left out */
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"

/* Has the app an entry MARK NAME for this variable, of which `entry` is NAME or NAME=...? */
static const char *marked(const struct cmdline_app *app, char mark, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (size_t i = 0; i < app->nenv; i++)
        if (app->env[i][0] == mark && strncmp(app->env[i] + 1, entry, len) == 0 &&
            (app->env[i][1 + len] == '=' || !app->env[i][1 + len]))
            return app->env[i] + 1;
    return NULL;
}

/* Without the whole environment ranks still know their job. */
static bool is_managers(const char *entry)
{
    static const char *const prefixes[] = {"SLURM_", "PBS_",         "LSB_", "SGE_",
                                           "JOB_",   "PE_HOSTFILE=", NULL};
    return begins_with_any(entry, prefixes);
}

static bool is_left_out(const struct cmdline_app *app, const char *entry)
{
    size_t len = strcspn(entry, "=");
    if (marked(app, '-', entry))
        return true;
    if (!app->only || is_managers(entry) || cmdline_setting_for(app, entry))
        return false;
    for (size_t i = 0; i < app->nenv; i++)
        if (strlen(app->env[i]) == len && strncmp(app->env[i], entry, len) == 0)
            return false;
    return true;
}

/* The entry with what the app puts before and behind its value. The caller frees it. */
static char *extended(const struct cmdline_app *app, const char *entry)
{
    const char *before = marked(app, '<', entry), *behind = marked(app, '>', entry);
    size_t len = strcspn(entry, "=");
    const char *value = entry[len] ? entry + len + 1 : "";
    bool has_front = before || *value;
    return text_format("%.*s=%s%s%s%s%s", (int)len, entry, before ? before + len + 1 : "",
                       before && *value ? ":" : "", value, behind && has_front ? ":" : "",
                       behind ? behind + len + 1 : "");
}

/* The variable of a setting that is no part of base: NULL where it sets none. */
static const char *new_variable(const char *setting)
{
    if (!strchr(setting, '='))
        return NULL;
    return setting[0] == '<' || setting[0] == '>' ? setting + 1 : setting;
}

char **cmdline_app_environ(const struct cmdline_app *app, char *const base[])
{
    size_t n = 0, used = 0;
    while (base[n])
        n++;
    char **envp = must(calloc(n + app->nenv + 1, sizeof(*envp)));
    for (size_t i = 0; i < n + app->nenv; i++) {
        const char *entry = i < n ? base[i] : new_variable(app->env[i - n]);
        if (!entry || (i < n ? is_left_out(app, entry) : spawn_env_value(envp, entry) != NULL))
            continue;
        bool edited = marked(app, '<', entry) || marked(app, '>', entry);
        const char *setting = cmdline_setting_for(app, entry);
        AUTO_FREE char *name = /* without a value: neither base nor a setting has it */
            edited && !setting && i >= n ? must(strndup(entry, strcspn(entry, "="))) : NULL;
        const char *from = setting ? setting : name ? name : entry;
        envp[used++] = edited ? extended(app, from) : must(strdup(from));
    }
    return envp;
}

char **cmdline_app_given(const struct cmdline_app *app)
{
    size_t n = 0;
    char **names = must(calloc(app->nenv + 1, sizeof(*names)));
    for (size_t i = 0; i < app->nenv; i++) {
        const char *set = new_variable(app->env[i]);
        if (set)
            names[n++] = must(strndup(set, strcspn(set, "=")));
    }
    return names;
}

char **cmdline_set_cpus_per_task(char **envp, uint32_t cpus)
{
    static const char name[] = "SLURM_CPUS_PER_TASK=";
    size_t n = 0, at = 0;
    while (envp[n])
        n++;
    while (envp[at] && strncmp(envp[at], name, sizeof(name) - 1) != 0)
        at++;
    if (at == n) {
        envp = must(reallocarray(envp, n + 2, sizeof(*envp)));
        envp[n + 1] = NULL;
    }
    free(envp[at]);
    envp[at] = text_format("%s%u", name, cpus);
    return envp;
}
