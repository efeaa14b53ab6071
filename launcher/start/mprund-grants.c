/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-grants.c - grants are asked for, awaited and kept */
#include "launcher/start/mprund-grants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/text.h"
#include "containment/mprund-protocol.h"
#include "launcher/tunables.h"

static void hang_up(struct grants *g)
{
    loop_io_destroy(g->io);
    loop_timer_stop(&g->timer);
    g->io = NULL;
    g->then = NULL;
    cleanup_close(&g->fd);
}

void grants_mprund_is_silent(struct grants *g, const char *host, const char *why)
{
    if (!g->said)
        log_warn("on %s: %s; ranks start without the cgroups and limits that it gives", host, why);
    g->said = true;
}

/* Says why there is no grant; with --verbose only, where the site does not sign. */
static void tell(struct grants *g, const struct error *why)
{
    char here[HOST_NAME_MAX + 2] = "";
    if (why->code == ETIMEDOUT)
        grants_mprund_is_silent(g, gethostname(here, sizeof(here) - 1) == 0 ? here : "this host",
                                why->text);
    else if (why->code == EPERM)
        log_debug("the job's other hosts get no grant: %s", why->text);
    else
        log_note("the job's other hosts get no grant, and have the limits of memory that their own "
                 "daemons find: %s",
                 why->text);
}

void grants_ask(struct grants *g, const struct step_plan *plan)
{
    struct grant_request q;
    struct error e;
    size_t others = 0;
    *g = (struct grants){.plan = plan, .fd = -1};
    for (size_t i = 0; i < plan->alloc.nhosts; i++)
        others += !plan->alloc.hosts[i].here;
    if (!plan->adapter->carries_variables || others == 0)
        return;
    grant_request_init(&q, GRANT_TOKEN, GRANT_ANY);
    g->since = loop_now();
    g->fd = grant_send(NULL, &q, &e);
    if (g->fd < 0 && e.code != ENOENT && e.code != ECONNREFUSED)
        tell(g, &e);
}

/* To every host of that name, or of none: to those that have no grant of their own. */
static void give(struct grants *g, const struct grant_answer *a)
{
    for (size_t i = 0; i < g->plan->used.nhosts; i++) {
        const struct alloc_host *h = &g->plan->used.hosts[i];
        if (h->here || g->variables[i] || (a->host[0] && strcmp(a->host, h->name) != 0))
            continue;
        g->variables[i] = text_format(GRANT_VARIABLE "=%s", a->token);
    }
}

/* It goes through a command line, where blanks, commas and the like would mean something. */
static bool is_plain(const char *token)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    return *token && strspn(token, letters) == strlen(token);
}

/* 1: that was the last one. 0: more are to come. */
static int take_one(struct grants *g, struct error *err)
{
    struct grant_answer a;
    if (grant_receive(g->fd, 0, &a, err) < 0)
        return err->code == EAGAIN ? 0 : -1;
    if ((a.result != GRANT_OK && a.result != GRANT_MORE) || !is_plain(a.token))
        return error_set(err, a.result == GRANT_REFUSED ? EPERM : EPROTO, "mprund says: %s",
                         a.text);
    give(g, &a);
    if (a.result == GRANT_MORE && ++g->n == GRANTS_MAX)
        return error_set(err, EPROTO, "mprund does not come to an end");
    return a.result == GRANT_OK;
}

/* why NULL: all have come. */
static void over(struct grants *g, const struct error *why)
{
    void (*then)(void *) = g->then;
    hang_up(g);
    if (why)
        tell(g, why);
    then(g->arg);
}

static void readable(void *arg, int fd, unsigned events)
{
    struct grants *g = arg;
    struct error e;
    int rc = take_one(g, &e);
    if (rc != 0)
        over(g, rc < 0 ? &e : NULL);
}

static void time_over(void *arg)
{
    struct grants *g = arg;
    struct error e;
    double more = grant_patience(g->fd, g->since, GRANTS_SECONDS, &e);
    if (more > 0)
        loop_timer_start(&g->timer, more, 0);
    else
        over(g, &e);
}

void grants_await(struct grants *g, struct loop *loop, void (*then)(void *arg), void *arg)
{
    if (g->fd < 0) {
        then(arg);
        return;
    }
    g->then = then;
    g->arg = arg;
    g->variables = must(calloc(g->plan->used.nhosts + 1, sizeof(*g->variables)));
    g->io = loop_io_create(loop, g->fd, LOOP_READ, readable, g);
    loop_timer_init(&g->timer, loop, time_over, g);
    loop_timer_start(&g->timer, GRANT_LEAST_S, 0);
}

bool grants_forget(struct grants *g)
{
    bool waits = g->then != NULL;
    hang_up(g);
    return waits;
}

void grants_close(struct grants *g)
{
    for (size_t i = 0; g->variables && i < g->plan->used.nhosts; i++)
        free(g->variables[i]);
    free(g->variables);
    hang_up(g);
}
