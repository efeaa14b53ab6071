/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/processes/ask-manager.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/processes/spawn.h"
#include "rm-adapters/tunables.h"

enum { ERRORS_MAX = 4096, COMMAND_MAX = 1 << 20 }; /* bytes kept of errors; of an answer */

struct talk {
    const struct ask *ask;
    struct ask_answer *answer;
    pid_t pid;
    int fds[3]; /* of its standard output and error, at their numbers; -1 once they ended */
};

static int start(struct talk *t, struct error *err)
{
    struct spawn s;
    spawn_init(&s);
    s.path = t->ask->path;
    s.argv = t->ask->argv;
    s.envp = t->ask->envp ? t->ask->envp : environ;
    s.fds[1] = s.fds[2] = SPAWN_PIPE;
    s.new_pgrp = !t->ask->same_group; /* Debian's are scripts around the real ones */
    s.parent_death_signal = SIGKILL;
    t->pid = spawn_piped(s, t->fds, err);
    return t->pid > 0 ? 0 : -1;
}

/* Read from one descriptor. Errors beyond ERRORS_MAX are dropped. */
static int take(struct talk *t, int i, struct error *err)
{
    struct buffer *said = &t->answer->said, *errors = &t->answer->errors;
    ssize_t n = buffer_read(i == STDERR_FILENO ? errors : said, t->fds[i], 1 << 16);
    if (n < 0 && errno != EINTR)
        return error_errno(err, errno, "read what it prints");
    if (n == 0)
        close(take_fd(&t->fds[i]));
    if (buffer_len(said) > t->ask->max)
        return error_set(err, EFBIG, "it prints more than %zu MiB", t->ask->max >> 20);
    if (buffer_len(errors) > ERRORS_MAX)
        errors->end = errors->start + ERRORS_MAX;
    return 0;
}

static int read_all(struct talk *t, double end, struct error *err)
{
    while (t->fds[1] >= 0 || t->fds[2] >= 0) {
        struct pollfd p[2] = {{.fd = t->fds[1], .events = POLLIN},
                              {.fd = t->fds[2], .events = POLLIN}};
        double left = end - loop_now();
        if (left <= 0)
            return error_set(err, ETIMEDOUT, "no answer within %g s", t->ask->seconds);
        int n = poll(p, 2, left > 3600 ? 3600000 : (int)(left * 1000) + 1);
        if (n < 0 && errno != EINTR)
            return error_errno(err, errno, "wait for it");
        for (int i = 0; n > 0 && i < 2; i++)
            if (p[i].revents && take(t, i + 1, err) < 0)
                return -1;
    }
    return 0;
}

/* Wait for the process to end, until that time. 1: it has; 0: the time is over; -1. Looks again and
 * again, because no descriptor tells of it on kernels before 5.3. */
static int wait_until(pid_t pid, double end, int *ret_status)
{
    for (int nap = 1;; nap = nap * 2 > ASK_NAP_MAX_MS ? ASK_NAP_MAX_MS : nap * 2) {
        pid_t got = waitpid(pid, ret_status, WNOHANG);
        if (got > 0)
            return 1;
        if (got < 0 && errno != EINTR)
            return -1;
        if (loop_now() >= end)
            return 0;
        poll(NULL, 0, nap);
    }
}

static int finish(struct talk *t, struct error *err)
{
    double end = loop_now() + t->ask->seconds;
    int rc = read_all(t, end, err);
    if (rc == 0) {
        int ended = wait_until(t->pid, end, &t->answer->status);
        if (ended > 0)
            return 0;
        rc = ended < 0
                 ? error_errno(err, errno, "wait for its end")
                 : error_set(err, ETIMEDOUT, "it closed its output and did not end within %g s",
                             t->ask->seconds);
        if (ended < 0)
            return rc;
    }
    kill(t->ask->same_group ? t->pid : -t->pid, SIGKILL);
    wait_until(t->pid, loop_now() + ASK_REAP_SECONDS, &t->answer->status);
    return rc;
}

int ask_run(const struct ask *a, struct ask_answer *ret, struct error *err)
{
    struct talk t = {.ask = a, .answer = ret, .fds = {-1, -1, -1}};
    memset(ret, 0, sizeof(*ret));
    int rc = start(&t, err);
    if (rc == 0)
        rc = finish(&t, err);
    cleanup_close(&t.fds[1]);
    cleanup_close(&t.fds[2]);
    if (rc < 0)
        ask_answer_free(ret);
    return rc;
}

void ask_answer_free(struct ask_answer *answer)
{
    buffer_free(&answer->said);
    buffer_free(&answer->errors);
}

int ask_command(const char *path, char *const argv[], double seconds, char *buf, size_t n,
                struct error *err)
{
    struct ask a = {.path = path, .argv = argv, .seconds = seconds, .max = COMMAND_MAX};
    AUTO(ask_answer_free) struct ask_answer answer = {.status = 0};
    buf[0] = 0;
    if (ask_run(&a, &answer, err) < 0)
        return -1;
    size_t have = buffer_len(&answer.said);
    have = have < n ? have : n - 1;
    if (have)
        memcpy(buf, buffer_ptr(&answer.said), have);
    buf[have] = 0;
    return WIFEXITED(answer.status) && WEXITSTATUS(answer.status) == 0
               ? 0
               : error_set(err, EPROTO, "it failed");
}
