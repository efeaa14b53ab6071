/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/errands/keeper-errands.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/spawn.h"
#include "wire/messages/errand.h"

static void reply(int fd, uint32_t id, int what, int value)
{
    struct errand_reply r = {.id = id, .what = what, .value = value};
    while (send(fd, &r, sizeof(r), MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

enum { WORDS = 64 };

/* Their number, -1: too many, or one without an end. */
static int take_words(char *at, char *end, const char *words[WORDS])
{
    size_t n = 0;
    while (at < end) {
        char *stop = memchr(at, 0, (size_t)(end - at));
        if (!stop || n + 1 >= WORDS)
            return -1;
        words[n++] = at;
        at = stop + 1;
    }
    words[n] = NULL;
    return (int)n;
}

/* The group of the task is what the manager ends; a start client stays out, with the keeper. */
static pid_t start(const struct keeper_errands *all, char *words, char *end, const int fds[3])
{
    const char *argv[WORDS];
    struct spawn s;
    struct error e = {.code = EINVAL};
    if (take_words(words, end, argv) <= 0)
        return -EINVAL;
    spawn_init(&s);
    s.path = argv[0];
    s.argv = (char *const *)(uintptr_t)argv;
    s.envp = environ;
    s.umask = all->umask;
    s.fds[0] = fds[0];
    s.fds[1] = s.fds[2] = fds[1];
    pid_t pid = spawn_process(&s, NULL, &e);
    return pid > 0 ? pid : e.code > 0 ? -e.code : -EIO;
}

void keeper_errand_start(struct keeper_errands *e, const char *request, size_t n, int fds[3],
                         pid_t worker, int reply_fd)
{
    struct errand_request q;
    char words[ERRAND_WORDS_MAX];
    pid_t pid = -EINVAL;
    if (n < sizeof(q) || n - sizeof(q) > sizeof(words))
        return;
    memcpy(&q, request, sizeof(q));
    memcpy(words, request + sizeof(q), n - sizeof(q));
    if (e->n == ERRANDS_MAX)
        pid = -EAGAIN;
    else if (fds[2] >= 0 && worker > 0) /* without it there is nobody to tell */
        pid = start(e, words, words + n - sizeof(q), fds);
    if (pid > 0)
        e->all[e->n++] = (struct keeper_errand){.id = q.id, .pid = pid, .out_fd = take_fd(&fds[2])};
    reply(reply_fd, q.id, pid > 0 ? ERRAND_HAS_PID : ERRAND_FAILED, pid > 0 ? pid : -pid);
}

int keeper_errands_has(const struct keeper_errands *e, pid_t pid)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->all[i].pid == pid)
            return 1;
    return 0;
}

void keeper_errand_ended(struct keeper_errands *e, pid_t pid, int status, int reply_fd)
{
    for (size_t i = 0; i < e->n; i++) {
        struct keeper_errand over = e->all[i];
        if (over.pid != pid)
            continue;
        e->all[i] = e->all[--e->n];
        close(over.out_fd);
        if (reply_fd >= 0)
            reply(reply_fd, over.id, ERRAND_OVER, status);
        return;
    }
}
