/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ranks/rank-gpus.h"

#include <stdio.h>
#include <string.h>

#include "common/spawn.h"

#define NAME "CUDA_VISIBLE_DEVICES"

/* The next id of a list, without the blanks around it; its length, 0 at the end or where none is.
 */
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

/* The value that the user gave for these ranks, or NULL. */
static const char *given(const struct app *app)
{
    for (char *const *name = app->given_env; name && *name; name++)
        if (strcmp(*name, NAME) == 0)
            return spawn_env_value(app->envp, NAME);
    return NULL;
}

const char *rank_gpus(const struct app *app, const char *granted, bool is_launcher_host)
{
    const char *users = given(app),
               *inherited = is_launcher_host ? spawn_env_value(app->envp, NAME) : NULL;
    if (!granted[0] || (users && gpus_check(users, granted) != GPUS_OUTSIDE))
        return NULL;
    if (!users && inherited && gpus_check(inherited, granted) == GPUS_WITHIN)
        return NULL;
    return granted;
}

size_t rank_gpu_variables(const struct app *app, const struct step *s, const char *granted,
                          bool is_launcher_host, char ret[][RANK_VARIABLE_SIZE])
{
    const char *gpus = rank_gpus(app, granted, is_launcher_host);
    size_t n = 0;
    if (gpus)
        snprintf(ret[n++], RANK_VARIABLE_SIZE, NAME "=%s", gpus);
    if (!s->gpu_env[0] || !granted[0])
        return n;
    snprintf(ret[n], RANK_VARIABLE_SIZE, "%s=%s", s->gpu_env, granted);
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
        const char *users = given(app);
        if (!users || !rank_set_meets(&here->ranks, &app->ranks) ||
            gpus_check(users, granted) != verdict)
            continue;
        if (verdict == GPUS_UNCHECKED)
            snprintf(buf, n,
                     NAME "=%.100s is kept, but whether it is within '%.100s', the job's GPUs "
                          "there, cannot be checked; name them as these are",
                     users, granted);
        else if (verdict == GPUS_OUTSIDE)
            snprintf(buf, n,
                     NAME "=%.100s is not within '%.100s', the job's GPUs there, which its ranks "
                          "have instead",
                     users, granted);
    }
}
