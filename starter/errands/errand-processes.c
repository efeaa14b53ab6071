/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/errands/errand-processes.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/processes/spawn.h"
#include "wire/messages/errand.h"

static void reply(int fd, uint32_t id, int what, int value)
{
    struct errand_reply r = {.id = id, .what = what, .value = value};
    while (send(fd, &r, sizeof(r), MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

enum { WORDS = 64 };

/* Splits the words. Returns their number; -1: too many, or one without an end. */
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

/* The manager ends the task's process group; a start client stays out of it, with its parent. */
static pid_t start(const struct errand_processes *all, char *words, char *end, const int fds[3])
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

void errand_process_start(struct errand_processes *e, const char *request, size_t n, int fds[3],
                          int reply_fd)
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
    else if (fds[2] >= 0)
        pid = start(e, words, words + n - sizeof(q), fds);
    if (pid > 0)
        e->all[e->n++] = (struct errand_process){
            .id = q.id, .pid = pid, .out_fd = take_fd(&fds[2]), .reply_fd = reply_fd};
    reply(reply_fd, q.id, pid > 0 ? ERRAND_HAS_PID : ERRAND_FAILED, pid > 0 ? pid : -pid);
}

static size_t find(const struct errand_processes *e, pid_t pid) /* e->n: there is none */
{
    size_t i = 0;
    while (i < e->n && e->all[i].pid != pid)
        i++;
    return i;
}

bool errand_processes_have(const struct errand_processes *e, pid_t pid)
{
    return find(e, pid) < e->n;
}

void errand_process_ended(struct errand_processes *e, pid_t pid, int status)
{
    size_t i = find(e, pid);
    if (i == e->n)
        return;
    struct errand_process over = e->all[i];
    e->all[i] = e->all[--e->n];
    close(over.out_fd);
    if (over.reply_fd >= 0)
        reply(over.reply_fd, over.id, ERRAND_OVER, status);
}

void errand_processes_tell_nobody(struct errand_processes *e, int reply_fd)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->all[i].reply_fd == reply_fd)
            e->all[i].reply_fd = -1;
}

void errand_processes_close(struct errand_processes *e)
{
    while (e->n > 0)
        close(e->all[--e->n].out_fd);
}
