/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-qstat.c - one qstat, within a time and a size
 *
 * As root, in a prolog, the environment is the job's user's to set: PATH is not looked at then, and
 * qstat gets of the environment only what says which cell to ask. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mprsrc.h"

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/loop.h"
#include "common/spawn.h"
#include "rm-adapters/gridengine-xml.h"

enum { ARGUMENTS_MAX = 8, STDERR_MAX = 4096 };

struct qstat {
    pid_t pid;
    int fds[2]; /* its standard output and error; -1 once they ended */
    struct buffer text[2];
};

/* ---- which, and with what -------------------------------------------------------------------- */

static char *const root_environment_path = (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin";

/* The environment for qstat; texts are shared with environ. Caller frees the array. */
static char **make_environment(void)
{
    static const char *const kept[] = {
        "SGE_ROOT=", "SGE_CELL=", "SGE_QMASTER_PORT=", "SGE_EXECD_PORT=", "SGE_CLUSTER_NAME="};
    size_t n = 0, count = 0;
    while (environ[count])
        count++;
    char **env = calloc(count + 2, sizeof(*env));
    for (size_t i = 0; env && i < count; i++) {
        int keep = geteuid() != 0;
        for (size_t k = 0; !keep && k < sizeof(kept) / sizeof(kept[0]); k++)
            keep = strncmp(environ[i], kept[k], strlen(kept[k])) == 0;
        if (keep)
            env[n++] = environ[i];
    }
    if (env && geteuid() == 0)
        env[n] = root_environment_path;
    return env;
}

/* The program's path; caller frees. */
static char *find_qstat(const struct mprsrc_options *o, char *const env[], struct error *err)
{
    const char *directory = geteuid() == 0 ? NULL : getenv("SGE_BINARY_PATH");
    char *path = NULL;
    if (!o->qstat && directory && asprintf(&path, "%s/qstat", directory) >= 0) {
        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    if (spawn_resolve(o->qstat ? o->qstat : "qstat", env, NULL, &path, err) == 0)
        return path;
    error_context(err, "find qstat (--qstat names it)");
    return NULL;
}

static int start(const char *path, char *const argv[], char *const env[], struct qstat *q,
                 struct error *err)
{
    int out[2] = {-1, -1}, errors[2] = {-1, -1};
    struct spawn s;
    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
        return error_errno(err, errno, "make a pipe");
    spawn_init(&s);
    s.path = path;
    s.argv = argv;
    s.envp = env;
    s.fds[1] = out[1];
    s.fds[2] = errors[1];
    s.new_pgrp = 1; /* Debian's qstat is a script around the real one */
    s.die_with_parent = 1;
    q->pid = spawn_process(&s, NULL, err);
    close(out[1]);
    close(errors[1]);
    q->fds[0] = out[0];
    q->fds[1] = errors[0];
    return q->pid > 0 ? 0 : -1;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What comes of one of them. More of its errors than are shown are read and dropped. */
static int take(struct qstat *q, int i, struct error *err)
{
    ssize_t n = buffer_read(&q->text[i], q->fds[i], 1 << 16);
    if (n < 0 && errno != EINTR)
        return error_errno(err, errno, "read what it prints");
    if (n == 0) {
        close(q->fds[i]);
        q->fds[i] = -1;
    }
    if (buffer_len(&q->text[0]) > GRIDENGINE_XML_MAX)
        return error_set(err, EFBIG, "it prints more than %d MiB", GRIDENGINE_XML_MAX >> 20);
    if (buffer_len(&q->text[1]) > STDERR_MAX)
        q->text[1].end = q->text[1].start + STDERR_MAX;
    return 0;
}

static int read_all(struct qstat *q, double timeout, struct error *err)
{
    double end = loop_now() + timeout;
    while (q->fds[0] >= 0 || q->fds[1] >= 0) {
        struct pollfd p[2] = {{.fd = q->fds[0], .events = POLLIN},
                              {.fd = q->fds[1], .events = POLLIN}};
        double left = end - loop_now();
        if (left <= 0)
            return error_set(err, ETIMEDOUT, "no answer within %g s; does the qmaster run?",
                             timeout);
        int n = poll(p, 2, left > 3600 ? 3600000 : (int)(left * 1000) + 1);
        if (n < 0 && errno != EINTR)
            return error_errno(err, errno, "wait for it");
        for (int i = 0; n > 0 && i < 2; i++)
            if (p[i].revents && take(q, i, err) < 0)
                return -1;
    }
    return 0;
}

/* Its own first line, or how it ended. */
static int no_answer(const struct qstat *q, int status, struct error *err)
{
    char line[300];
    size_t n = buffer_len(&q->text[1]);
    n = n < sizeof(line) - 1 ? n : sizeof(line) - 1;
    if (n)
        memcpy(line, buffer_ptr(&q->text[1]), n);
    line[n] = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *c = line; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
    if (line[0])
        return error_set(err, EIO, "it says: %s", line);
    if (WIFSIGNALED(status))
        return error_set(err, EIO, "it died of signal %d", WTERMSIG(status));
    return error_set(err, EIO, "it printed nothing, exit code %d", WEXITSTATUS(status));
}

static int finish(struct qstat *q, double timeout, struct error *err)
{
    int status = 0, failed = read_all(q, timeout, err) < 0;
    if (failed)
        kill(-q->pid, SIGKILL);
    while (waitpid(q->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (failed)
        return -1;
    /* with an answer the exit code means nothing: the answer may be that there is no such job */
    return buffer_len(&q->text[0]) > 0 ? 0 : no_answer(q, status, err);
}

/* "qstat -xml -j 20" */
static void command_text(char *const argv[], char *buf, size_t n)
{
    size_t at = 0;
    for (int i = 0; argv[i] && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%s", i ? " " : "", argv[i]);
}

char *mprsrc_qstat(const struct mprsrc_options *o, const char *const arguments[], size_t *ret_len,
                   struct error *err)
{
    struct qstat q = {.fds = {-1, -1}};
    char *argv[ARGUMENTS_MAX + 2] = {(char *)"qstat"}, command[200];
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        argv[i + 1] = (char *)arguments[i];
    command_text(argv, command, sizeof(command));
    AUTO_FREE char **env = make_environment();
    AUTO_FREE char *path = env ? find_qstat(o, env, err) : NULL;
    char *text = NULL;
    if (path && start(path, argv, env, &q, err) == 0 && finish(&q, o->timeout, err) == 0) {
        *ret_len = buffer_len(&q.text[0]);
        text = strndup((char *)buffer_ptr(&q.text[0]), *ret_len);
    }
    if (!text)
        error_context(err, "run '%s'", command);
    for (int i = 0; i < 2; i++) {
        cleanup_close(&q.fds[i]);
        buffer_free(&q.text[i]);
    }
    return text;
}
