/* SPDX-License-Identifier: BSD-3-Clause */
/* resolver.c - having the configuration read */
#include "node-daemon/supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"

enum { RESOLVE_S = 60 }; /* systemd has 30 for a scope */

static void exec_resolver(char **argv, const char *what, int to)
{
    size_t n = 0;
    sigset_t none;
    while (argv[n])
        n++;
    char **words = calloc(n + 2, sizeof(*words));
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (!words || (to == START_CONTROL ? fcntl(to, F_SETFD, 0) : dup2(to, START_CONTROL)) < 0)
        _exit(1);
    words[0] = argv[0];
    words[1] = (char *)"resolve";
    memcpy(words + 2, argv + 1, (n - 1) * sizeof(*words));
    (void)setenv(RESOLVE_VARIABLE, what, 1); /* no word: the last of mprund's may take one */
    execv(argv[0], words);
    log_error("exec '%s': %s", argv[0], strerror(errno));
    _exit(1);
}

/* The gifts that have come, before they count. */
struct found {
    struct plan plan;
    int ground[PLAN_PARTS], gift[GIFTS];
};

static void take(struct found *f, const struct gift_record *r, int *fd)
{
    int *place = r->head.what == GIFT_GROUND && r->which < PLAN_PARTS ? &f->ground[r->which]
                 : r->head.what < GIFT_ALL                            ? &f->gift[r->head.what]
                                                                      : NULL;
    if (!place)
        return;
    cleanup_close(place);
    *place = take_fd(fd);
}

/* Until the plan has come, or the child has gone without it, or takes too long: nobody is served
 * meanwhile. */
static int receive(int from, struct found *f)
{
    struct gift_record r;
    double by = children_now() + RESOLVE_S;
    for (;;) {
        AUTO_CLOSE int fd = -1;
        struct pollfd p = {.fd = from, .events = POLLIN};
        double left = by - children_now();
        if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) != 1) {
            log_error("the configuration is not read in %d s", RESOLVE_S);
            return -1;
        }
        if (record_receive(from, &r, sizeof(r), &fd) <= 0)
            return -1;
        if (r.head.what == GIFT_ALL)
            return record_receive(from, &f->plan, sizeof(f->plan), &fd) == 1 ? 0 : -1;
        take(f, &r, &fd);
    }
}

static void replace(int *old, int *new)
{
    cleanup_close(old);
    *old = take_fd(new);
}

/* The ground is that of the start; what the new configuration does not name is no more. */
static void accept_found(struct children *c, struct found *f, bool is_start, bool is_sockets)
{
    for (unsigned i = 0; i < PLAN_PARTS && is_start; i++)
        replace(&c->ground[i], &f->ground[i]);
    for (unsigned gift = GIFT_CONF; gift < GIFT_ALL; gift++) {
        bool is_kept =
            gift == GIFT_LOCK || is_sockets || gift == GIFT_SOCKET || gift == GIFT_ROOT_SOCKET;
        if (f->gift[gift] >= 0 || !is_kept)
            replace(&c->gift[gift], &f->gift[gift]);
    }
    if (is_sockets)
        return;
    struct plan_ground ground = is_start ? f->plan.ground : c->plan.ground;
    c->plan = f->plan;
    c->plan.ground = ground;
}

static void found_close(struct found *f)
{
    for (size_t i = 0; i < PLAN_PARTS; i++)
        cleanup_close(&f->ground[i]);
    for (size_t i = 0; i < GIFTS; i++)
        cleanup_close(&f->gift[i]);
}

int resolver_run(char **argv, const char *what, struct children *c)
{
    int ends[2], status = -1;
    static struct found found; /* large */
    memset(&found, -1, sizeof(found));
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        exec_resolver(argv, what, ends[1]);
    close(ends[1]);
    int rc = pid < 0 ? -1 : receive(ends[0], &found);
    close(ends[0]);
    if (pid > 0 && rc < 0)
        (void)kill(pid, SIGKILL);
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    if (rc == 0 && status == 0)
        accept_found(c, &found, !strcmp(what, RESOLVE_START), !strcmp(what, RESOLVE_SOCKETS));
    found_close(&found);
    return rc == 0 && status == 0 ? 0 : -1;
}
