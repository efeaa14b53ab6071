/* SPDX-License-Identifier: BSD-3-Clause */
/* simulated.c - the adapter of bench/mprun-scale: "simulated:N" is N hosts in one process,
 * "simulated:N,B" has them do a fence with B bytes from each
 *
 * mprun-scale is mprun with this adapter beside the others. It starts one bench/scale-hosts for all
 * hosts; the start channels of the hosts are all that program's standard input and output, so that
 * it gets their preambles one after the other. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "common/path.h"
#include "rm-adapters/adapter.h"
#include "rm-adapters/client.h"

enum { HOSTS_MAX = 65536, INPUT_SIZE = 1024 * 1024, FENCE_MAX = 65536 };

static const struct rm_adapter rm_adapter_simulated;

const struct rm_adapter *const rm_adapters[] = {
    &rm_adapter_simulated,
    &rm_adapter_ssh,
    &rm_adapter_local,
    NULL,
};

static int simulated_detect(char *reason, size_t n)
{
    snprintf(reason, n, "only where it is asked for");
    return 0;
}

static char fence[32]; /* bytes of each host, for the program; "": none */

static int take_argument(const char *argument, int64_t *ret_nhosts, struct error *err)
{
    char hosts[32];
    int64_t bytes;
    size_t n = strcspn(argument, ",");
    snprintf(hosts, sizeof(hosts), "%.*s", (int)n, argument);
    if (number_parse(hosts, "hosts of 'simulated:N'", 1, HOSTS_MAX, ret_nhosts, err) < 0)
        return -1;
    if (!argument[n])
        return 0;
    if (number_parse(argument + n + 1, "bytes of 'simulated:N,B'", 1, FENCE_MAX, &bytes, err) < 0)
        return -1;
    snprintf(fence, sizeof(fence), "%s", argument + n + 1);
    return 0;
}

static int simulated_read_allocation(const struct host_request *request, struct allocation *ret,
                                     struct error *err)
{
    struct allocation a = {.adapter = rm_adapter_simulated.name};
    int64_t nhosts;
    char name[32];
    if (rm_adapter_refuse_hosts(&rm_adapter_simulated, request, err) < 0 ||
        take_argument(request->argument ? request->argument : "", &nhosts, err) < 0)
        return -1;
    for (int64_t i = 0; i < nhosts; i++) {
        snprintf(name, sizeof(name), "node%05d", (int)i);
        struct alloc_host *h = allocation_add_host(&a, name);
        if (!h) {
            allocation_free(&a);
            return error_errno(err, ENOMEM, "list the hosts");
        }
        h->here = 1;
        h->slots.value = 1;
        snprintf(h->slots.source, sizeof(h->slots.source), "simulated");
    }
    *ret = a;
    return 0;
}

struct starting {
    struct start_request request;
    struct loop_defer *next;
    size_t nhosts, started;
    struct start_channel channel;
    int ended, cancelled;
};

static void simulation_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct starting *s = arg;
    s->ended = 1;
    for (size_t i = 0; i < s->started; i++)
        s->request.event(s->request.arg, i, START_CHANNEL_ENDED, NULL, status, NULL);
}

/* One host per turn of the loop, as other adapters do. */
static void start_next(void *arg)
{
    struct starting *s = arg;
    struct start_channel c = {.err_fd = -1, .pid = s->channel.pid};
    struct error err;
    size_t i = s->started++;
    c.in_fd = fcntl(s->channel.in_fd, F_DUPFD_CLOEXEC, 3);
    c.out_fd = fcntl(s->channel.out_fd, F_DUPFD_CLOEXEC, 3);
    if (s->cancelled || s->ended || c.in_fd < 0 || c.out_fd < 0) {
        error_errno(&err, s->cancelled || s->ended ? ECANCELED : errno, "start host %zu", i);
        s->request.event(s->request.arg, i, START_FAILED, NULL, 0, &err);
    } else {
        s->request.event(s->request.arg, i, START_CHANNEL_OPEN, &c, 0, NULL);
    }
    if (s->started < s->nhosts)
        loop_defer_schedule(s->next);
}

static void simulated_destroy(struct starting *s)
{
    if (!s)
        return;
    if (s->channel.pid > 0 && !s->ended)
        reaper_remove(s->request.reaper, s->channel.pid);
    cleanup_close(&s->channel.in_fd);
    cleanup_close(&s->channel.out_fd);
    loop_defer_destroy(s->next);
    free(s);
}

static struct starting *simulated_start(const struct start_request *request, struct error *err)
{
    static const char *const beside[] = {"scale-hosts", NULL};
    char *const argv[] = {(char *)(uintptr_t) "scale-hosts", *fence ? fence : NULL, NULL};
    AUTO_FREE char *path = path_find_helper(beside, PKGLIBEXECDIR "/scale-hosts", err);
    struct starting *s = path ? calloc(1, sizeof(*s)) : NULL;
    if (!s)
        return NULL;
    s->request = *request;
    s->nhosts = request->allocation->nhosts;
    s->channel.in_fd = s->channel.out_fd = -1;
    s->next = loop_defer_create(request->loop, start_next, s);
    if (!s->next ||
        client_start(request->reaper, path, argv, 1, simulation_ended, s, &s->channel, err) < 0) {
        simulated_destroy(s);
        return NULL;
    }
    /* all preambles fit: writing them waits for nobody, as with a channel for each host */
    fcntl(s->channel.in_fd, F_SETPIPE_SZ, INPUT_SIZE);
    loop_defer_schedule(s->next);
    return s;
}

static void simulated_cancel(struct starting *s)
{
    s->cancelled = 1;
    if (s->channel.pid > 1 && !s->ended)
        kill(s->channel.pid, SIGTERM);
}

static void simulated_describe(const struct start_request *request, const struct alloc_host *host,
                               char *buf, size_t n)
{
    snprintf(buf, n, "by one process for all");
}

static const struct rm_adapter rm_adapter_simulated = {
    .name = "simulated",
    .summary = "simulated:N is N hosts in one process; with ,B they do a fence of B bytes",
    .detect = simulated_detect,
    .read_allocation = simulated_read_allocation,
    .start = simulated_start,
    .cancel = simulated_cancel,
    .destroy = simulated_destroy,
    .describe = simulated_describe,
    .stdio_channel = STDIO_NONE,
    .stdio_reason = "all hosts are one process",
};
