/* SPDX-License-Identifier: BSD-3-Clause */
/* step.c - what a step holds, given back; the words for tracking levels */
#include "model/step.h"

#include <stdlib.h>
#include <string.h>

static void free_strings(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

void app_free(struct app *a)
{
    free_strings(a->argv);
    free_strings(a->envp);
    free_strings(a->given_env);
    free(a->directory);
    *a = (struct app){0};
}

void step_free(struct step *s)
{
    for (size_t i = 0; i < s->napps; i++)
        app_free(&s->apps[i]);
    free(s->apps);
    free_strings(s->host_env);
    s->host_env = NULL;
    s->apps = NULL;
    s->napps = 0;
    explicit_bzero(s->nspace, sizeof(s->nspace)); /* whoever knows it can join the step's PMIx */
}

const char *tracking_text(enum tracking t)
{
    switch (t) {
    case TRACK_RANK:
        return "rank";
    case TRACK_STEP:
        return "step";
    case TRACK_RM:
        return "rm";
    case TRACK_TREE:
        return "tree";
    }
    return "unknown"; /* from a peer of another version */
}
