/* SPDX-License-Identifier: BSD-3-Clause */
/* simulated.c - the adapter of bench/mprun-scale: "simulated:N" is N hosts in one process,
 * "simulated:N,B" has them do a fence with B bytes from each
 *
 * mprun-scale is mprun with this adapter beside the others. It starts one bench/scale-hosts for all
 * hosts; what hosts are sent is all that program's standard input, so that it gets their preambles
 * one after the other. What they say first is said for each of them here: on one standard output it
 * would not be known who is ready. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/processes/reaper.h"
#include "common/processes/spawn.h"
#include "common/text/number.h"
#include "common/files/path.h"
#include "rm-adapters/adapter.h"
#include "rm-adapters/hosts/requested-hosts.h"
#include "rm-adapters/processes/start-many.h"
#include "wire/start-channel/preamble.h"

enum { HOSTS_MAX = 65536, INPUT_SIZE = 1024 * 1024, FENCE_MAX = 65536 };

static const struct rm_adapter rm_adapter_simulated;

const struct rm_adapter *const rm_adapters[] = {
    &rm_adapter_simulated, &rm_adapter_gridengine, &rm_adapter_ssh, &rm_adapter_local, NULL,
};

static bool simulated_detect(const struct host_request *request, char *reason, size_t n)
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
    struct allocation a = {.nhosts = 0};
    int64_t nhosts;
    char name[32];
    if (named_refuse(request, rm_adapter_simulated.name, err) < 0 ||
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

/* The one process. */
struct simulation {
    struct reaper *reaper;
    struct starting *starting;
    struct start_channel channel;
    size_t opened;
    int ended;
};

static void simulation_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct simulation *sim = arg;
    size_t n = sim->opened;
    sim->ended = 1;
    for (size_t i = 0; i < n; i++)
        fanout_ended(sim->starting, i, status);
}

/* The output of a host that is ready, and says nothing else; -1 with errno. */
static int ready_output(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    AUTO_CLOSE int out = ends[0];
    AUTO_CLOSE int said = ends[1];
    if (fd_write_all(said, PREAMBLE_READY, strlen(PREAMBLE_READY)) < 0)
        return -1;
    return take_fd(&out);
}

static int open_host(struct starting *s, size_t i, struct start_channel *ret, struct error *err)
{
    struct simulation *sim = fanout_arg(s);
    AUTO_CLOSE int in = fcntl(sim->channel.in_fd, F_DUPFD_CLOEXEC, 3);
    AUTO_CLOSE int out = in < 0 ? -1 : ready_output();
    if (sim->ended || out < 0)
        return error_errno(err, sim->ended ? ECHILD : errno, "open its start channel");
    *ret = (struct start_channel){
        .in_fd = take_fd(&in), .out_fd = take_fd(&out), .err_fd = -1, .pid = sim->channel.pid};
    sim->opened++;
    return 0;
}

static void simulation_destroy(void *arg)
{
    struct simulation *sim = arg;
    if (sim->channel.pid > 0 && !sim->ended)
        reaper_remove(sim->reaper, sim->channel.pid);
    cleanup_close(&sim->channel.in_fd);
    cleanup_close(&sim->channel.out_fd);
    free(sim);
}

static struct starting *simulated_start(const struct start_request *request, struct error *err)
{
    static const struct fanout_way way = {
        .open = open_host, .destroy = simulation_destroy, .at_once = HOSTS_MAX};
    static const char *const beside[] = {"scale-hosts", NULL};
    char *const argv[] = {(char *)(uintptr_t) "scale-hosts", *fence ? fence : NULL, NULL};
    AUTO_FREE char *path = path_find_helper(beside, PKGLIBEXECDIR "/scale-hosts", err);
    struct simulation *sim = path ? calloc(1, sizeof(*sim)) : NULL;
    if (!sim)
        return NULL;
    sim->reaper = request->reaper;
    sim->channel.in_fd = sim->channel.out_fd = -1;
    struct spawn s;
    int ends[3];
    spawn_init(&s);
    s.path = path;
    s.argv = argv;
    s.envp = environ;
    s.fds[0] = s.fds[1] = SPAWN_PIPE;
    s.fds[2] = STDERR_FILENO;
    s.new_pgrp = 1;
    s.limits = request->soft_limits;
    sim->channel.pid = spawn_piped(s, ends, err);
    if (sim->channel.pid < 0) {
        simulation_destroy(sim);
        return NULL;
    }
    sim->channel.in_fd = ends[0];
    sim->channel.out_fd = ends[1];
    reaper_add(request->reaper, sim->channel.pid, simulation_ended, sim);
    /* thousands of preambles fit: writing one waits for nobody, as with a channel for each host */
    fcntl(sim->channel.in_fd, F_SETPIPE_SZ, INPUT_SIZE);
    return sim->starting = fanout_begin(request, &way, sim);
}

static void simulated_cancel(struct starting *s)
{
    const struct simulation *sim = fanout_arg(s);
    if (sim->channel.pid > 1 && !sim->ended)
        kill(sim->channel.pid, SIGTERM);
    fanout_cancel(s);
}

static void simulated_describe(const struct start_request *request, const struct alloc_host *host,
                               char *buf, size_t n)
{
    snprintf(buf, n, "by one process for all");
}

static const struct rm_adapter rm_adapter_simulated = {
    .name = "simulated",
    .detect = simulated_detect,
    .read_allocation = simulated_read_allocation,
    .start = simulated_start,
    .cancel = simulated_cancel,
    .destroy = fanout_destroy,
    .describe = simulated_describe,
    .stdio_channel = STDIO_NONE,
    .stdio_reason = "all hosts are one process",
};
