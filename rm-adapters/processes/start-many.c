/* SPDX-License-Identifier: BSD-3-Clause */
/* start-many.c - begins the start clients of many hosts one by one, and ends them together
 *
 * A client stays as long as its starter. The number of clients "on their way" is bounded: those
 * that run and whose hosts have not reported back. */
#include "rm-adapters/processes/start-many.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/must.h"
#include "common/processes/spawn.h"
#include "rm-adapters/tunables.h"

/* ---- many ------------------------------------------------------------------------------------ */

struct fanout_host {
    struct starting *starting;
    pid_t pid; /* of the client; 0: none runs */
    bool on_way, again;
    bool is_starter; /* the process is mpstarter itself */
};

struct starting {
    struct start_request request;
    const struct fanout_way *way;
    void *arg;
    struct loop_defer next;       /* opens the channel of one host */
    struct loop_timer kill_timer; /* clients that TERM did not end */
    size_t started;               /* hosts that were tried so far */
    size_t on_way;
    size_t nagain; /* hosts to be tried once more */
    size_t at_once;
    bool cancelled;
    size_t nhosts;
    struct fanout_host hosts[];
};

static void start_more(struct starting *s)
{
    bool due = s->started < s->nhosts || s->nagain > 0;
    if (due && (s->on_way < s->at_once || s->cancelled))
        loop_defer_schedule(&s->next);
}

static void arrived(struct starting *s, size_t host)
{
    s->on_way -= s->hosts[host].on_way;
    s->hosts[host].on_way = false;
}

void fanout_ended(struct starting *s, size_t host, int status)
{
    s->hosts[host].pid = 0;
    arrived(s, host);
    s->request.event(s->request.arg, host, START_CHANNEL_ENDED, NULL, status, NULL);
    start_more(s);
}

static void client_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct fanout_host *h = arg;
    fanout_ended(h->starting, (size_t)(h - h->starting->hosts), status);
}

/* what: a program, and where its standard error goes. */
static int start_process(struct starting *s, size_t host, struct spawn what,
                         struct start_channel *ret, struct error *err)
{
    struct fanout_host *h = &s->hosts[host];
    int ends[3];
    what.envp = environ;
    what.fds[0] = what.fds[1] = SPAWN_PIPE;
    what.new_pgrp = 1;
    what.limits = s->request.soft_limits;
    what.umask = s->request.umask;
    pid_t pid = spawn_piped(what, ends, err);
    if (pid < 0)
        return -1;
    h->pid = pid;
    reaper_add(s->request.reaper, pid, client_ended, h);
    *ret =
        (struct start_channel){.in_fd = ends[0], .out_fd = ends[1], .err_fd = ends[2], .pid = pid};
    return 0;
}

int fanout_client(struct starting *s, size_t host, const char *path, char *const argv[],
                  struct start_channel *ret, struct error *err)
{
    struct spawn what;
    spawn_init(&what);
    what.path = path;
    what.argv = argv;
    what.fds[2] = SPAWN_PIPE;
    return start_process(s, host, what, ret, err);
}

int fanout_starter(struct starting *s, size_t host, struct start_channel *ret, struct error *err)
{
    struct spawn what;
    spawn_init(&what);
    what.path = s->request.starter_path;
    what.run = s->request.run_starter;
    what.argv = s->request.starter_argv;
    what.fds[2] = fcntl(STDERR_FILENO, F_GETFD) < 0 ? -1 : STDERR_FILENO;
    if (start_process(s, host, what, ret, err) < 0)
        return -1;
    s->hosts[host].is_starter = true;
    ret->is_starter = true;
    return 0;
}

/* The next host that has not been tried, or one that is to be tried again. */
static size_t take_next(struct starting *s)
{
    if (s->started < s->nhosts)
        return s->started++;
    size_t i = 0;
    while (!s->hosts[i].again)
        i++;
    s->hosts[i].again = false;
    s->nagain--;
    return i;
}

static int open_host(struct starting *s, size_t host, struct start_channel *ret, struct error *err)
{
    if (s->cancelled)
        return error_set(err, ECANCELED, "not begun, because the start was cancelled");
    if (s->way->open(s, host, ret, err) < 0)
        return -1;
    s->hosts[host].on_way = true;
    s->on_way++;
    return 0;
}

/* Starts one host per turn of the loop; after a cancel, reports one as failed. */
static void start_next(void *arg)
{
    struct starting *s = arg;
    struct start_channel channel;
    struct error err = {0};
    size_t i = take_next(s);
    if (s->request.is_elsewhere(s->request.arg, i)) {
        start_more(s);
        return;
    }
    if (open_host(s, i, &channel, &err) == 0) {
        s->request.event(s->request.arg, i, START_CHANNEL_OPEN, &channel, 0, NULL);
    } else {
        error_context(&err, "start the starter of host '%s'", s->request.allocation->hosts[i].name);
        s->request.event(s->request.arg, i, START_FAILED, NULL, 0, &err);
    }
    start_more(s);
}

void fanout_again(struct starting *s, size_t host)
{
    /* nobody has told of the end of a client that was handed over */
    arrived(s, host);
    if (host < s->started) { /* else its turn comes anyway */
        s->nagain += !s->hosts[host].again;
        s->hosts[host].again = true;
    }
    start_more(s);
}

/* Signals process groups, because a client may be a script that waits for what it has started. A
 * host that has reported back is ended through its link, and its client ends with it. */
static void signal_clients(struct starting *s, int signo)
{
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->hosts[i].pid > 1 && s->hosts[i].on_way)
            kill(-s->hosts[i].pid, signo);
}

static void kill_clients(void *arg)
{
    signal_clients(arg, SIGKILL);
}

struct starting *fanout_begin(const struct start_request *request, const struct fanout_way *way,
                              void *arg)
{
    size_t n = request->allocation->nhosts;
    struct starting *s = must(calloc(1, sizeof(*s) + n * sizeof(s->hosts[0])));
    s->request = *request;
    s->way = way;
    s->arg = arg;
    s->at_once = way->at_once           ? way->at_once
                 : request->concurrency ? request->concurrency
                                        : START_AT_ONCE;
    s->nhosts = n;
    loop_defer_init(&s->next, request->loop, start_next, s);
    loop_timer_init(&s->kill_timer, request->loop, kill_clients, s);
    for (size_t i = 0; i < n; i++)
        s->hosts[i].starting = s;
    start_more(s);
    return s;
}

void *fanout_arg(const struct starting *s)
{
    return s->arg;
}

const struct start_request *fanout_request(const struct starting *s)
{
    return &s->request;
}

void fanout_cancel(struct starting *s)
{
    if (s->cancelled)
        return;
    s->cancelled = true;
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->hosts[i].pid > 1 && s->hosts[i].is_starter &&
            (!s->hosts[i].on_way || s->way->let_clients_be))
            kill(s->hosts[i].pid, SIGTERM);
    if (!s->way->let_clients_be) {
        signal_clients(s, SIGTERM);
        loop_timer_start(&s->kill_timer, CLIENT_KILL_SECONDS, CLIENT_KILL_SECONDS);
    }
    start_more(s);
}

void fanout_reported(struct starting *s, size_t host)
{
    arrived(s, host);
    start_more(s);
}

void fanout_abandon(struct starting *s, size_t host)
{
    if (s->hosts[host].pid > 1)
        kill(-s->hosts[host].pid, SIGKILL);
}

pid_t fanout_client_pid(const struct starting *s, size_t host)
{
    return s->hosts[host].pid;
}

bool fanout_hand_over(struct starting *s, size_t host, int *ret_fd)
{
    struct fanout_host *h = &s->hosts[host];
    *ret_fd = -1;
    reaper_remove(s->request.reaper, h->pid);
    h->pid = 0;
    return true;
}

void fanout_destroy(struct starting *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->hosts[i].pid > 0)
            reaper_remove(s->request.reaper, s->hosts[i].pid);
    loop_defer_stop(&s->next);
    loop_timer_stop(&s->kill_timer);
    if (s->way->destroy)
        s->way->destroy(s->arg);
    free(s);
}
