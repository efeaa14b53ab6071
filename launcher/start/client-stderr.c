/* SPDX-License-Identifier: BSD-3-Clause */
/* client-stderr.c - lines of a start client are held, shown, and explained */
#include "launcher/start/client-stderr.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "containment/job-cgroup/oom-kills.h"
#include "launcher/outcome/host-failures.h"
#include "model/rank-end.h"

const char *start_client_name(const struct step_plan *plan)
{
    if (plan->cmd->start.agent)
        return plan->cmd->start.agent[0];
    return plan->adapter->client_name ? plan->adapter->client_name : plan->adapter->name;
}

const char *start_client_killer(const struct step_plan *plan)
{
    return plan->adapter->ends_hosts ? plan->adapter->ends_hosts : "";
}

const char *start_client_advice(const struct step_plan *plan, const char *words, char *buf,
                                size_t n)
{
    buf[0] = 0;
    if (!plan->cmd->start.agent && plan->adapter->advise)
        plan->adapter->advise(words, buf, n);
    return buf;
}

/* The client says this line although nothing is wrong. */
static bool is_noise(const struct step_plan *plan, const char *line)
{
    return !plan->cmd->start.agent && plan->adapter->is_noise && plan->adapter->is_noise(line);
}

/* A client that ends well may still complain of its connection: that helps nobody. */
static void show(struct client_stderr *c, const char *line)
{
    if (c->host->state >= AGENT_CLEANED && !c->host->failed)
        log_debug("host %s: %s", c->host->name, line);
    else if (c->shown++ < CLIENT_SHOWN_MAX)
        log_note("host %s: %s", c->host->name, line);
    else if (c->shown == CLIENT_SHOWN_MAX + 1)
        log_note("host %s: what its start client says further is not shown", c->host->name);
}

/* Its newline becomes its end. Valid until the next line is taken. */
static const char *take_first(struct client_stderr *c)
{
    char *line = (char *)buffer_ptr(&c->held);
    char *end = memchr(line, '\n', buffer_len(&c->held));
    *end = 0;
    buffer_consume(&c->held, (size_t)(end - line) + 1); /* a small one keeps its memory */
    c->lines--;
    return line;
}

/* Behind much noise of a login comes the reason: the last words are kept. */
static void hold(struct client_stderr *c)
{
    c->line[c->n] = '\n';
    buffer_append(&c->held, c->line, c->n + 1);
    c->lines++;
    while (buffer_len(&c->held) >= CLIENT_HELD_MAX)
        take_first(c);
}

/* The keeper's words when its worker has died. */
static bool is_death(struct client_stderr *c)
{
    const char *words = strstr(c->line, ": mpstarter's worker (pid ");
    if (!words || strncmp(c->line, "mpstarter: on ", 14) != 0 || c->has_died ||
        c->host->state < AGENT_CONNECTED || c->host->state >= AGENT_CLEANED)
        return false;
    c->has_died = true;
    bool lacked_memory = strstr(words, OOM_KILLED);
    bool is_killed = !lacked_memory && strstr(words, " was killed by signal 9 ");
    host_failures_add(c->failures, c->host, false,
                      lacked_memory ? EXIT_CODE_SIGNAL + SIGKILL : EXIT_CODE_MPRUN, "%s%s",
                      words + 2, is_killed ? start_client_killer(c->host->table->plan) : "");
    return true;
}

static void end_line(struct client_stderr *c)
{
    while (c->n && strchr(" \t\r", c->line[c->n - 1]))
        c->n--;
    c->line[c->n] = 0;
    if (c->n && is_noise(c->host->table->plan, c->line))
        log_debug("host %s: %s", c->host->name, c->line);
    else if (c->n && !is_death(c)) {
        if (c->at_once)
            show(c, c->line);
        else
            hold(c);
    }
    c->n = 0;
}

static void take(struct client_stderr *c, const char *p, size_t n)
{
    for (; n; p++, n--) {
        if (*p == '\n' || c->n == CLIENT_LINE_MAX)
            end_line(c);
        if (*p != '\n')
            c->line[c->n++] = *p == '\t' ? ' ' : *p ? *p : '?';
    }
}

static void readable(void *arg, int fd, unsigned events)
{
    struct client_stderr *c = arg;
    char buf[2048];
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n > 0) {
        take(c, buf, (size_t)n);
        return;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    loop_io_destroy(take_ptr(c->io));
    end_line(c);
}

/* Reads what is still in the pipe, without waiting for others that may hold it open. */
static void drain(struct client_stderr *c)
{
    char buf[2048];
    ssize_t n;
    for (int i = 0; c->io && i < CLIENT_DRAIN_READS && (n = read(c->fd, buf, sizeof(buf))) > 0; i++)
        take(c, buf, (size_t)n);
    end_line(c);
}

void client_stderr_open(struct client_stderr *c, struct loop *loop, struct host *h,
                        struct host_failures *failures, int fd)
{
    *c = (struct client_stderr){.host = h, .failures = failures, .fd = fd};
    if (fd < 0)
        return;
    fd_set_nonblock(fd, 1);
    c->io = loop_io_create(loop, fd, LOOP_READ, readable, c);
}

void client_stderr_close(struct client_stderr *c)
{
    if (!c->host)
        return;
    loop_io_destroy(c->io);
    cleanup_close(&c->fd);
    buffer_free(&c->held);
    *c = (struct client_stderr){.host = NULL};
}

void client_stderr_hand_over(struct client_stderr *c)
{
    loop_io_destroy(take_ptr(c->io));
    cleanup_close(&c->fd);
}

void client_stderr_add(struct client_stderr *c, const void *p, size_t n)
{
    if (c->host)
        take(c, p, n);
}

/* Shows all that is held, but the last `keep` lines. */
static void show_held(struct client_stderr *c, unsigned keep)
{
    while (c->lines > keep)
        show(c, take_first(c));
}

void client_stderr_show(struct client_stderr *c)
{
    show_held(c, 0);
}

void client_stderr_show_at_once(struct client_stderr *c)
{
    show_held(c, 0);
    buffer_free(&c->held);
    c->at_once = true;
}

void client_stderr_finish(struct client_stderr *c)
{
    drain(c);
    show_held(c, 0);
    client_stderr_close(c);
}

void client_stderr_take_reason(struct client_stderr *c, char *buf, size_t n)
{
    buf[0] = 0;
    c->at_once = false;
    drain(c);
    if (c->lines > CLIENT_JOINED_LINES)
        show_held(c, 1);
    for (size_t to = 0; c->lines > 0 && to < n;)
        to += (size_t)snprintf(buf + to, n - to, "%s%s", to ? "; " : "", take_first(c));
    size_t length = strlen(buf);
    if (length && buf[length - 1] == '.') /* the sentence goes on */
        buf[length - 1] = 0;
    buffer_free(&c->held);
    c->lines = 0;
}

const char *client_stderr_held(struct client_stderr *c)
{
    drain(c);
    if (c->lines == 0)
        return "";
    *buffer_reserve(&c->held, 1) = 0;
    return (const char *)buffer_ptr(&c->held);
}
