/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/grants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "node-daemon/front/grants.h"
#include "node-daemon/reader/ge-hosts.h"
#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/front/requests.h"

static const double TELL_S = 1; /* users are not to fill logs */

/* ---- signing ----------------------------------------------------------------------------------
 */

static int sign_one(const struct conf *c, const struct job *job, const struct ge_host *host,
                    struct grant_answer *ret, struct error *err)
{
    struct token t = grant_token(c, job->name, job->uid, &job->demand, host ? host->name : "",
                                 host ? host->slots : 0);
    answer_init(ret, host ? GRANT_MORE : GRANT_OK, NULL);
    snprintf(ret->job, sizeof(ret->job), "%s", job->name);
    snprintf(ret->host, sizeof(ret->host), "%s", t.host);
    return token_sign(&c->key, &t, (int64_t)time(NULL), ret->token, err);
}

/* Where it cannot be read there are none: the execds' own numbers are good for nearly all. */
static struct ge_host *read_hosts(const struct conf *c, const struct job *job, size_t *ret_n)
{
    AUTO_CLOSE int dir = ge_spool_task(c, job->name, "");
    AUTO_FREE char *text = dir < 0 ? NULL : ge_spool_text(c, dir, "pe_hostfile");
    struct ge_host *hosts = text ? ge_hosts_of_several(text, ret_n) : NULL;
    if (!hosts)
        *ret_n = 0;
    return hosts;
}

struct grant_answer *grants_sign(const struct conf *c, const struct job *job, size_t *ret_n,
                                 struct error *err)
{
    size_t n;
    AUTO_FREE struct ge_host *hosts = read_hosts(c, job, &n);
    AUTO_FREE struct grant_answer *a = calloc(n + 1, sizeof(*a));
    if (!a) {
        error_errno(err, ENOMEM, "sign a grant");
        return NULL;
    }
    for (size_t i = 0; i <= n; i++)
        if (sign_one(c, job, i < n ? &hosts[i] : NULL, &a[i], err) < 0)
            return NULL;
    *ret_n = n + 1;
    return take_ptr(a);
}

/* ---- taking -----------------------------------------------------------------------------------
 */

static void tell(const struct evidence *e, const struct error *why)
{
    static double told;
    if (told > 0 && loop_now() - told < TELL_S)
        return;
    told = loop_now();
    log_warn("job %s of user %u: what its execd wrote holds, without its grant: %s", e->name,
             (unsigned)e->uid, why->text);
}

void grants_take(const struct conf *c, struct task_evidence *t)
{
    struct token token;
    struct error err;
    if (c->key.set && t->grant[0] &&
        (token_open(&c->key, t->grant, (int64_t)time(NULL), &token, &err) < 0 ||
         grant_apply(&token, c->ge_cell, &t->evidence, &err) < 0))
        tell(&t->evidence, &err);
}
