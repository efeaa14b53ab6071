/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/grants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "node-daemon/reader/ge-hosts.h"
#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/front/requests.h"

static const char variable[] = GRANT_VARIABLE "=";
static const double TELL_S = 1; /* users are not to fill logs */

/* ---- signing ----------------------------------------------------------------------------------
 */

static int sign_one(const struct conf *c, const struct job *job, const struct ge_host *host,
                    struct grant_answer *ret, struct error *err)
{
    struct token t = {.uid = job->uid, .demand = job->demand};
    snprintf(t.job, sizeof(t.job), "%s", job->name);
    snprintf(t.cell, sizeof(t.cell), "%s", c->ge_cell);
    if (host) {
        snprintf(t.host, sizeof(t.host), "%s", host->name);
        t.slots = host->slots;
    }
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

/* The value of the first line that begins with it. The execd writes lines NAME=VALUE of the task's
 * environment, of which the user may choose any: only what is signed counts. */
static int find_grant(const char *text, char ret[GRANT_TOKEN_MAX + 1])
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, variable, sizeof(variable) - 1) != 0)
            continue;
        const char *value = line + sizeof(variable) - 1;
        size_t len = strcspn(value, "\n");
        len = len < GRANT_TOKEN_MAX ? len : GRANT_TOKEN_MAX; /* of one that is too long: too long */
        memcpy(ret, value, len);
        ret[len] = 0;
        return 0;
    }
    return -1;
}

static int check(const struct conf *c, const struct evidence *e, const char *text,
                 struct token *ret, struct error *err)
{
    char host[256] = "";
    if (token_open(&c->key, text, (int64_t)time(NULL), ret, err) < 0)
        return -1;
    (void)gethostname(host, sizeof(host) - 1);
    const char *why = token_is_for(ret, e->name, e->uid, c->ge_cell, host);
    return why ? error_set(err, EPERM, "%s", why) : 0;
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

void grants_take(const struct conf *c, int task_dir, struct evidence *e)
{
    char text[GRANT_TOKEN_MAX + 1];
    struct token t;
    struct error err;
    AUTO_FREE char *environment = c->key.set ? ge_spool_text(c, task_dir, "environment") : NULL;
    if (!environment || find_grant(environment, text) < 0)
        return;
    if (check(c, e, text, &t, &err) < 0) {
        tell(e, &err);
        return;
    }
    if (t.slots) {
        e->share.slots = t.slots;
        e->cores = t.slots;
    }
    e->demand = t.demand;
    e->demand_known = 1;
    e->limits = share_limits(&e->share, &e->demand);
    e->gpus = share_gpus(&e->share, &e->demand);
}
