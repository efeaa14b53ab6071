/* SPDX-License-Identifier: BSD-3-Clause */
/* grants.c - what mprund of this host signs of the job, for the daemons of its other hosts
 *
 * Asked for when the allocation is known, taken when hosts are started: by then it is mostly there.
 * It is only carried here, to where the manager's own daemon writes it down beside the task.
 * Without mprund, or where it signs nothing, starters are started without. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "containment/grant.h"
#include "launcher/run.h"

/* mprund answers within 5 s, mostly at once: it waits for qstat. Without a grant nothing would hold
 * the job's memory on its other hosts. */
static const double WAIT_S = 6;
enum { ANSWERS_MAX = 65536 };

void grants_ask(struct run *r)
{
    struct grant_request q;
    struct error e;
    size_t others = 0;
    r->grants_fd = -1;
    for (size_t i = 0; i < r->alloc.nhosts; i++)
        others += !r->alloc.hosts[i].here;
    if (!r->adapter->carries_variables || others == 0)
        return;
    grant_request_init(&q, GRANT_TOKEN, GRANT_ANY);
    r->grants_fd = grant_send(NULL, &q, &e);
    if (r->grants_fd < 0 && e.code != ENOENT)
        log_debug("the job's other hosts get no grant: %s", e.text);
}

/* To every host of that name, or of none: to those that have no grant of their own. */
static int give(struct run *r, const struct grant_answer *a)
{
    for (size_t i = 0; i < r->used.nhosts; i++) {
        const struct alloc_host *h = &r->used.hosts[i];
        if (h->here || r->grants[i] || (a->host[0] && strcmp(a->host, h->name) != 0))
            continue;
        if (asprintf(&r->grants[i], GRANT_VARIABLE "=%s", a->token) < 0) {
            r->grants[i] = NULL;
            return -1;
        }
    }
    return 0;
}

/* It goes through a command line, where blanks, commas and the like would mean something. */
static int is_plain(const char *token)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    return *token && strspn(token, letters) == strlen(token);
}

static int take(struct run *r, struct error *err)
{
    struct grant_answer a;
    double end = loop_now() + WAIT_S;
    for (int n = 0; n < ANSWERS_MAX; n++) {
        double left = end - loop_now();
        if (grant_receive(r->grants_fd, left > 0 ? (int)(left * 1000) + 1 : 0, &a, err) < 0)
            return -1;
        if ((a.result != GRANT_OK && a.result != GRANT_MORE) || !is_plain(a.token))
            return error_set(err, EPERM, "mprund says: %s", a.text);
        if (give(r, &a) < 0)
            return error_errno(err, ENOMEM, "keep a grant");
        if (a.result == GRANT_OK)
            return 0;
    }
    return error_set(err, EPROTO, "mprund does not come to an end");
}

void grants_take(struct run *r)
{
    struct error e;
    if (r->grants_fd < 0)
        return;
    r->grants = calloc(r->used.nhosts + 1, sizeof(*r->grants));
    if (r->grants && take(r, &e) < 0)
        log_debug("the job's other hosts get no grant: %s", e.text);
    close(take_fd(&r->grants_fd));
}

void grants_free(struct run *r)
{
    for (size_t i = 0; r->grants && i < r->used.nhosts; i++)
        free(r->grants[i]);
    free(take_ptr(r->grants));
    if (r->grants_fd > 0)
        close(take_fd(&r->grants_fd));
}
