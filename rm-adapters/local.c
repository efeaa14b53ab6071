/* SPDX-License-Identifier: BSD-3-Clause */
/* local.c - no resource manager: this machine, as one host or posing as several
 *
 * "local" is one host with all the cores that mprun may use. "local:N" is N hosts, each with a
 * starter and cores of its own while there are enough: for trying out what needs several hosts.
 * Starters are children of mprun; one is spawned per turn of the loop. */
#include "rm-adapters/adapter.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cpus.h"
#include "common/number.h"
#include "rm-adapters/client.h"

enum { LOCAL_MAX_HOSTS = 64 };

/* ---- allocation ------------------------------------------------------------------------------ */

static int local_detect(char *reason, size_t n)
{
    snprintf(reason, n, "no resource manager is needed: this machine alone");
    return 1;
}

static int own_name(char *buf, size_t n, struct error *err)
{
    if (gethostname(buf, n) < 0)
        return error_errno(err, errno, "read the name of this machine");
    buf[n - 1] = 0;
    if (!buf[0])
        return error_set(err, ENOENT, "read the name of this machine: it has none");
    return 0;
}

static void set_slots(struct alloc_host *h, const struct idset *threads)
{
    unsigned cores = cpus_count_cores(threads);
    h->slots.value = cores ? cores : 1;
    snprintf(h->slots.source, sizeof(h->slots.source), "cores of this machine");
}

static int add_whole_machine(struct allocation *a, const char *name, const struct idset *allowed,
                             struct error *err)
{
    struct alloc_host *h = allocation_add_host(a, name);
    if (!h)
        return error_errno(err, ENOMEM, "list the hosts");
    set_slots(h, allowed);
    return 0;
}

static int add_part(struct allocation *a, const char *name, unsigned index, struct idset *part,
                    struct error *err)
{
    char full[320];
    snprintf(full, sizeof(full), "%s-%u", name, index);
    struct alloc_host *h = allocation_add_host(a, full);
    if (!h)
        return error_errno(err, ENOMEM, "list the hosts");
    h->cores_known = 1;
    h->cores = *part;
    *part = (struct idset){0};
    snprintf(h->cores_source, sizeof(h->cores_source), "local:N's share of this machine");
    set_slots(h, &h->cores);
    return 0;
}

static int add_parts(struct allocation *a, const char *name, const struct idset *allowed,
                     unsigned nhosts, struct error *err)
{
    struct idset parts[LOCAL_MAX_HOSTS] = {0};
    int rc = cpus_split(allowed, nhosts, parts, err);
    for (unsigned i = 0; rc == 0 && i < nhosts; i++)
        rc = add_part(a, name, i, &parts[i], err);
    for (unsigned i = 0; i < nhosts; i++)
        idset_free(&parts[i]);
    return rc;
}

static int local_read_allocation(const struct host_request *request, struct allocation *ret,
                                 struct error *err)
{
    const char *argument = request->argument;
    struct allocation a = {.adapter = rm_adapter_local.name, .may_oversubscribe = 1};
    struct idset allowed = {0};
    int64_t nhosts = 0;
    char name[256];
    if (rm_adapter_refuse_hosts(&rm_adapter_local, request, err) < 0)
        return -1;
    if (argument &&
        number_parse(argument, "hosts of 'local:N'", 1, LOCAL_MAX_HOSTS, &nhosts, err) < 0)
        return -1;
    if (own_name(name, sizeof(name), err) < 0 || cpus_allowed(&allowed, err) < 0)
        return -1;
    int rc = argument ? add_parts(&a, name, &allowed, (unsigned)nhosts, err)
                      : add_whole_machine(&a, name, &allowed, err);
    idset_free(&allowed);
    if (rc < 0) {
        allocation_free(&a);
        return -1;
    }
    for (size_t i = 0; i < a.nhosts; i++)
        a.hosts[i].here = 1;
    *ret = a;
    return 0;
}

/* ---- start ----------------------------------------------------------------------------------- */

struct local_host {
    struct starting *starting;
    pid_t pid; /* 0: not running */
};

struct starting {
    struct start_request request;
    struct loop_defer *next; /* spawns one starter */
    struct local_host *hosts;
    size_t nhosts;
    size_t started; /* hosts that were tried so far */
    int cancelled;
    int in_event;  /* the receiver is being called and may destroy us */
    int destroyed; /* it did */
};

static void starting_free(struct starting *s)
{
    loop_defer_destroy(s->next);
    free(s->hosts);
    free(s);
}

/* Tell the receiver. 0 when *s is gone after that. */
static int send_event(struct starting *s, size_t host, enum start_event event,
                      const struct start_channel *channel, int status, const struct error *err)
{
    s->in_event++;
    s->request.event(s->request.arg, host, event, channel, status, err);
    s->in_event--;
    if (s->destroyed && !s->in_event) {
        starting_free(s);
        return 0;
    }
    return !s->destroyed;
}

static void starter_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct local_host *h = arg;
    struct starting *s = h->starting;
    h->pid = 0;
    send_event(s, (size_t)(h - s->hosts), START_CHANNEL_ENDED, NULL, status, NULL);
}

static int open_channel(struct local_host *h, struct start_channel *ret, struct error *err)
{
    const struct start_request *r = &h->starting->request;
    if (client_start(r->reaper, r->starter_path, r->starter_argv, 1, starter_ended, h, ret, err) <
        0)
        return -1;
    h->pid = ret->pid;
    return 0;
}

static int try_host(struct starting *s, size_t i, struct start_channel *ret, struct error *err)
{
    if (!s->cancelled)
        return open_channel(&s->hosts[i], ret, err);
    return error_set(err, ECANCELED, "not begun, because the start was cancelled");
}

/* One host per turn of the loop; after a cancel the rest is reported as failed in the same way. */
static void start_next(void *arg)
{
    struct starting *s = arg;
    struct start_channel channel;
    struct error err = {0};
    size_t i = s->started++;
    int alive;
    if (try_host(s, i, &channel, &err) == 0) {
        alive = send_event(s, i, START_CHANNEL_OPEN, &channel, 0, NULL);
    } else {
        error_context(&err, "start the starter of host '%s'", s->request.allocation->hosts[i].name);
        alive = send_event(s, i, START_FAILED, NULL, 0, &err);
    }
    if (alive && s->started < s->nhosts)
        loop_defer_schedule(s->next);
}

static struct starting *local_start(const struct start_request *request, struct error *err)
{
    struct starting *s = calloc(1, sizeof(*s));
    if (s) {
        s->request = *request;
        s->nhosts = request->allocation->nhosts;
        s->hosts = calloc(s->nhosts ? s->nhosts : 1, sizeof(*s->hosts));
        s->next = loop_defer_create(request->loop, start_next, s);
    }
    if (!s || !s->hosts || !s->next) {
        if (s)
            starting_free(s);
        error_errno(err, ENOMEM, "start starters");
        return NULL;
    }
    for (size_t i = 0; i < s->nhosts; i++)
        s->hosts[i].starting = s;
    if (s->nhosts > 0)
        loop_defer_schedule(s->next);
    return s;
}

static void local_cancel(struct starting *s)
{
    s->cancelled = 1;
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->hosts[i].pid > 0)
            kill(s->hosts[i].pid, SIGTERM);
}

static void local_destroy(struct starting *s)
{
    if (!s || s->destroyed)
        return;
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->hosts[i].pid > 0)
            reaper_remove(s->request.reaper, s->hosts[i].pid);
    s->destroyed = 1;
    if (!s->in_event)
        starting_free(s);
}

static void local_describe(const struct start_request *request, const struct alloc_host *host,
                           char *buf, size_t n)
{
    snprintf(buf, n, "by mprun itself: %s", request->starter_path);
}

const struct rm_adapter rm_adapter_local = {
    .name = "local",
    .summary = "this machine; local:N poses as N hosts (1 to 64) with cores of their own",
    .detect = local_detect,
    .read_allocation = local_read_allocation,
    .start = local_start,
    .cancel = local_cancel,
    .destroy = local_destroy,
    .describe = local_describe,
    .stdio_channel = STDIO_PER_HOST,
};
