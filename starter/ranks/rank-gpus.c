/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ranks/rank-gpus.h"

#include <stdio.h>
#include <string.h>

#include "common/processes/spawn.h"

/* Finds the next id of a list, without blanks around it. Returns its length, 0 at the end. */
static size_t next_id(const char **at, const char **ret)
{
    const char *id = *at + strspn(*at, " ");
    size_t n = strcspn(id, ",");
    *at = id + n + (id[n] == ',');
    while (n > 0 && id[n - 1] == ' ')
        n--;
    *ret = id;
    return n;
}

static bool has_id(const char *list, const char *id, size_t len)
{
    const char *other;
    while (*list)
        if (next_id(&list, &other) == len && strncmp(other, id, len) == 0)
            return true;
    return false;
}

enum gpus_verdict gpus_check(const char *named, const char *granted)
{
    enum gpus_verdict verdict = GPUS_WITHIN;
    const char *id;
    for (size_t n; (n = next_id(&named, &id)) > 0 && !(n == 2 && strncmp(id, "-1", 2) == 0);) {
        if (has_id(granted, id, n))
            continue;
        if (strspn(id, "0123456789") >= n)
            return GPUS_OUTSIDE;
        verdict = GPUS_UNCHECKED;
    }
    return verdict;
}

/* Returns the value that the user gave for these ranks, or NULL. */
static const char *given(const struct app *app, const char *variable)
{
    for (char *const *name = app->given_env; name && *name; name++)
        if (strcmp(*name, variable) == 0)
            return spawn_env_value(app->envp, variable);
    return NULL;
}

const char *rank_gpus(const struct app *app, const char *variable, const struct rank_gpus *g)
{
    const char *users = given(app, variable);
    if (g->is_ranks_own)
        return users ? NULL : g->ids;
    const char *inherited = g->is_launcher_host ? spawn_env_value(app->envp, variable) : NULL;
    if (!g->ids[0] || (users && gpus_check(users, g->ids) != GPUS_OUTSIDE))
        return NULL;
    if (!users && inherited && gpus_check(inherited, g->ids) == GPUS_WITHIN)
        return NULL;
    return g->ids;
}

/* Level Zero knows devices by number, "1", and parts of them, "1.0". */
static bool can_have(enum gpu_kind kind, const char *ids)
{
    return kind != GPU_INTEL || ids[strspn(ids, "0123456789.,")] == 0;
}

size_t rank_gpu_variables(const struct app *app, const struct step *s, const struct rank_gpus *g,
                          char ret[][RANK_VARIABLE_SIZE])
{
    size_t n = 0;
    for (unsigned k = 0; k < GPU_KINDS; k++) {
        const char *ids = (g->kinds & (1u << k)) && can_have((enum gpu_kind)k, g->ids)
                              ? rank_gpus(app, gpu_variables[k], g)
                              : NULL;
        if (ids)
            snprintf(ret[n++], RANK_VARIABLE_SIZE, "%s=%s", gpu_variables[k], ids);
    }
    if (!s->gpu_env[0] || !g->ids[0])
        return n;
    snprintf(ret[n], RANK_VARIABLE_SIZE, "%s=%s", s->gpu_env, g->ids);
    for (char *c = ret[n]; *c; c++)
        if (*c == ',')
            *c = ' ';
    return n + 1;
}

void rank_gpus_sentence(const struct step *s, const struct placement *here, const char *granted,
                        enum gpus_verdict verdict, char *buf, size_t n)
{
    buf[0] = 0;
    for (size_t i = 0; i < s->napps && granted[0] && !buf[0]; i++) {
        const struct app *app = &s->apps[i];
        const char *variable = gpu_variables[GPU_NVIDIA], *users = NULL;
        for (unsigned k = 0; k < GPU_KINDS && !users; k++)
            users = given(app, variable = gpu_variables[k]);
        if (!users || !rank_set_meets(&here->ranks, &app->ranks) ||
            gpus_check(users, granted) != verdict)
            continue;
        if (verdict == GPUS_UNCHECKED)
            snprintf(buf, n,
                     "%s=%.100s is kept, but whether it is within '%.100s', the job's GPUs there, "
                     "cannot be checked; name them as these are",
                     variable, users, granted);
        else if (verdict == GPUS_OUTSIDE)
            snprintf(buf, n,
                     "%s=%.100s is not within '%.100s', the job's GPUs there, which its ranks have "
                     "instead",
                     variable, users, granted);
    }
}
