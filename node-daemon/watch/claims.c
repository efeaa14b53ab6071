/* SPDX-License-Identifier: BSD-3-Clause */
/* claims.c - claims under way */
#include "node-daemon/watch/quarantine-private.h"

static struct claim *first_with(struct claims *c, uint64_t id)
{
    for (size_t i = 0; i < CLAIMS_MAX; i++)
        if (c->of[i].id == id)
            return &c->of[i];
    return NULL;
}

struct claim *claims_add(struct claims *c, const struct process *p,
                         const struct reader_request *what, const char *how, bool is_of_look)
{
    struct claim *one = first_with(c, 0);
    if (!one)
        return NULL;
    *one = (struct claim){.id = ++c->last,
                          .p = *p,
                          .what = *what,
                          .how = how,
                          .since = loop_now(),
                          .is_of_look = is_of_look};
    c->n++;
    return one;
}

struct claim *claims_find(struct claims *c, uint64_t id)
{
    return id ? first_with(c, id) : NULL;
}

/* A number of one that has ended meanwhile is another's. */
bool claims_have(const struct claims *c, pid_t pid)
{
    for (size_t i = 0; i < CLAIMS_MAX && c->n > 0; i++)
        if (c->of[i].id && c->of[i].p.pid == pid && process_is_alive(&c->of[i].p))
            return true;
    return false;
}

struct claim *claims_old(struct claims *c, double seconds)
{
    for (size_t i = 0; i < CLAIMS_MAX; i++)
        if (c->of[i].id && loop_now() - c->of[i].since >= seconds)
            return &c->of[i];
    return NULL;
}

void claims_end(struct claims *c, struct claim *one)
{
    process_close(&one->p);
    one->id = 0;
    c->n--;
}

void claims_clear(struct claims *c)
{
    for (size_t i = 0; i < CLAIMS_MAX; i++)
        if (c->of[i].id)
            claims_end(c, &c->of[i]);
}
