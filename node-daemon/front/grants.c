/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/grants.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int grant_apply(const struct token *t, const char *cell, struct evidence *e, struct error *err)
{
    char host[256] = "";
    (void)gethostname(host, sizeof(host) - 1);
    const char *why = token_is_for(t, e->name, e->uid, cell, host);
    if (why)
        return error_set(err, EPERM, "%s", why);
    if (t->slots) {
        e->share.slots = t->slots;
        e->cores = t->slots;
    }
    e->demand = t->demand;
    e->demand_known = 1;
    e->limits = share_limits(&e->share, &e->demand);
    e->gpus = share_gpus(&e->share, &e->demand);
    return 0;
}

struct token grant_token(const struct conf *c, const char *job, uid_t uid, const struct demand *d,
                         const char *host, uint32_t slots)
{
    struct token t = {.uid = uid, .slots = slots, .demand = *d};
    snprintf(t.job, sizeof(t.job), "%s", job);
    snprintf(t.cell, sizeof(t.cell), "%s", c->ge_cell);
    snprintf(t.host, sizeof(t.host), "%s", host);
    return t;
}
