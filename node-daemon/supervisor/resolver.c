/* SPDX-License-Identifier: BSD-3-Clause */
/* resolver.c - having the configuration read */
#include "node-daemon/supervisor/resolver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"

static void exec_resolver(char **argv, const char *what, int to)
{
    size_t n = 0;
    sigset_t none;
    while (argv[n])
        n++;
    char **words = calloc(n + 2, sizeof(*words));
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (!words || (to != START_CONTROL && dup2(to, START_CONTROL) < 0))
        _exit(1);
    words[0] = argv[0];
    words[1] = (char *)"resolve";
    memcpy(words + 2, argv + 1, (n - 1) * sizeof(*words));
    (void)setenv(RESOLVE_VARIABLE, what, 1); /* no word: the last of mprund's may take one */
    execv(argv[0], words);
    log_error("exec '%s': %s", argv[0], strerror(errno));
    _exit(1);
}

static void take(struct children *c, const struct gift_record *r, int *fd)
{
    int *place = r->head.what == GIFT_GROUND && r->which < PLAN_PARTS ? &c->ground[r->which]
                 : r->head.what < GIFT_ALL                            ? &c->gift[r->head.what]
                                                                      : NULL;
    if (!place)
        return;
    cleanup_close(place);
    *place = take_fd(fd);
}

/* Until the plan has come, or the child has gone without it. */
static int receive(int from, struct children *c)
{
    struct gift_record r;
    for (;;) {
        AUTO_CLOSE int fd = -1;
        if (record_receive(from, &r, sizeof(r), &fd) <= 0)
            return -1;
        if (r.head.what == GIFT_ALL)
            return record_receive(from, &c->plan, sizeof(c->plan), &fd) == 1 ? 0 : -1;
        take(c, &r, &fd);
    }
}

int resolver_run(char **argv, const char *what, struct children *c)
{
    int ends[2], status = 0;
    struct plan_ground ground = c->plan.ground;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        exec_resolver(argv, what, ends[1]);
    }
    close(ends[1]);
    int rc = pid < 0 ? -1 : receive(ends[0], c);
    close(ends[0]);
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    if (strcmp(what, RESOLVE_START) != 0)
        c->plan.ground = ground;
    return rc < 0 || status != 0 ? -1 : 0;
}
