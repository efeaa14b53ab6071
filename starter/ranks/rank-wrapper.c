/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-wrapper.c - the words of a rank that another program starts (--wrap) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "starter/ranks/ranks-private.h"
#include "wire/messages/launch.h"

bool rank_is_wrapped(const struct rank *r)
{
    const struct wrapper *w = &r->all->with->launch->step.wrapper;
    return w->argv && (idset_count(&w->ranks) == 0 || idset_has(&w->ranks, r->name.rank));
}

char *rank_fill_in(const char *word, uint32_t world, const struct rank *r)
{
    struct rank_name any = {.world = world, .rank = r->name.rank}; /* incarnation */
    return rank_name_fill_in(word, any, launch_here(r->all->with->launch)->host);
}

char **rank_wrapped_argv(const struct rank *r, const char *program)
{
    char *const *before = r->all->with->launch->step.wrapper.argv, *const *own = r->app->argv;
    size_t nbefore = words_count(before), n = words_count(own);
    char **argv = must(calloc(nbefore + n + 1, sizeof(*argv)));
    for (size_t i = 0; i < nbefore; i++)
        argv[i] = rank_fill_in(before[i], r->name.world, r);
    for (size_t i = 0; i < n; i++)
        argv[nbefore + i] = must(strdup(i == 0 && program ? program : own[i]));
    return argv;
}
