/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/jobs/grants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/must.h"
#include "node-daemon/front/links/ask-signer.h"

static const double TELL_S = 1; /* users are not to fill logs */

/* ---- signing --------------------------------------------------------------------------------- */

struct token grant_token(const struct conf *c, const char *job, uid_t uid, const struct demand *d,
                         const char *host, uint32_t slots)
{
    struct token t = {.uid = uid, .demand = *d, .slots = slots};
    snprintf(t.job, sizeof(t.job), "%s", job);
    snprintf(t.cell, sizeof(t.cell), "%s", c->ge_cell);
    snprintf(t.host, sizeof(t.host), "%.*s", (int)sizeof(t.host) - 1, host);
    return t;
}

static int sign_one(struct start *s, const struct conf *c, const struct job *job, const char *host,
                    uint32_t slots, struct grant_answer *ret, struct error *err)
{
    struct token t = grant_token(c, job->name, job->uid, &job->demand, host, slots);
    grant_answer_init(ret, *host ? GRANT_MORE : GRANT_OK, NULL);
    snprintf(ret->job, sizeof(ret->job), "%s", job->name);
    snprintf(ret->host, sizeof(ret->host), "%s", t.host);
    return signer_sign(s, &t, ret->token, err);
}

struct grant_answer *grants_sign(struct start *s, const struct conf *c, const struct job *job,
                                 const struct finding *hosts, size_t *ret_n, struct error *err)
{
    size_t n = 0;
    AUTO_FREE struct grant_answer *a = must(calloc(hosts->n + 1, sizeof(*a)));
    for (size_t i = 0; i < hosts->n; i++)
        if (hosts->answer[i].more &&
            sign_one(s, c, job, hosts->answer[i].host, hosts->answer[i].slots, &a[n++], err) < 0)
            return NULL;
    if (sign_one(s, c, job, "", 0, &a[n++], err) < 0)
        return NULL;
    *ret_n = n;
    return take_ptr(a);
}

/* ---- taking ---------------------------------------------------------------------------------- */

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

static void tell(const struct evidence *e, const struct error *why)
{
    static double told;
    if (told > 0 && loop_now() - told < TELL_S)
        return;
    told = loop_now();
    log_warn("job %s of user %u: what its execd wrote holds, without its grant: %s", e->name,
             (unsigned)e->uid, why->text);
}

void grants_take(struct start *s, const struct conf *c, const char *text, struct evidence *e)
{
    struct token t;
    struct error err;
    if (!*text || !c->grant_key)
        return;
    if (signer_open(s, text, &t, &err) < 0 || grant_apply(&t, c->ge_cell, e, &err) < 0)
        tell(e, &err);
}
