/* SPDX-License-Identifier: BSD-3-Clause */
/* step.c - what a step holds, given back; the words for tracking levels */
#include "model/step.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/words.h"

void app_free(struct app *a)
{
    words_free(a->argv);
    words_free(a->envp);
    words_free(a->given_env);
    free(a->directory);
    free(a->bind);
    free(a->limits);
    rank_set_free(&a->ranks);
    *a = (struct app){0};
}

void step_free(struct step *s)
{
    for (size_t i = 0; i < s->napps; i++)
        app_free(&s->apps[i]);
    free(s->apps);
    words_free(take_ptr(s->host_env));
    free(take_ptr(s->stdin_file));
    words_free(take_ptr(s->wrapper.argv));
    idset_free(&s->wrapper.ranks);
    s->apps = NULL;
    s->napps = 0;
    explicit_bzero(s->nspace, sizeof(s->nspace)); /* whoever knows it can join the step's PMIx */
}

const struct app *step_app_of(const struct step *s, struct rank_name name)
{
    for (size_t i = 0; i < s->napps; i++)
        if (rank_set_has(&s->apps[i].ranks, name))
            return &s->apps[i];
    return NULL;
}

const struct limits *step_rank_limits(const struct step *s, const struct app *a)
{
    return a && a->limits ? a->limits : &s->rank_limits;
}

struct limits step_lowest_rank_limits(const struct step *s)
{
    struct limits lowest = *step_rank_limits(s, s->napps ? &s->apps[0] : NULL);
    for (size_t i = 1; i < s->napps; i++)
        for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
            const struct limit *l = &step_rank_limits(s, &s->apps[i])->of[k];
            if (l->set && (!lowest.of[k].set || l->value < lowest.of[k].value))
                lowest.of[k] = *l;
        }
    return lowest;
}

const char *tracking_text(enum tracking t)
{
    static const char *const texts[] = {"rank", "step", "rm", "tree"};
    return (size_t)t < sizeof(texts) / sizeof(texts[0]) ? texts[t] : "unknown"; /* a later peer's */
}
