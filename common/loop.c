/* SPDX-License-Identifier: BSD-3-Clause */
/* The default loop of libev reaps every child of the process; this uses its own, and takes
 * signals from a signalfd, so that reaper.c stays the one owner of SIGCHLD. */
#include "common/loop.h"

#include <errno.h>
#include <ev.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "common/must.h"
#include "common/cleanup.h"

struct loop {
    struct ev_loop *ev;
    int signal_fd;
    struct loop_io *signal_io;
    loop_signal_fn signal_fn;
    bool is_signal_foreign, is_signal_timer;
    void *signal_arg;
};

struct loop_io {
    ev_io w;
    struct loop *loop;
    loop_io_fn fn;
    void *arg;
};

_Static_assert((int)LOOP_READ == EV_READ && (int)LOOP_WRITE == EV_WRITE,
               "events as libev has them");
_Static_assert(sizeof(ev_timer) <= sizeof(((struct loop_timer *)0)->watcher), "room in loop_timer");
_Static_assert(sizeof(ev_prepare) <= sizeof(((struct loop_defer *)0)->watcher), "in loop_defer");
_Static_assert(sizeof(ev_idle) <= sizeof(((struct loop_defer *)0)->idle), "in loop_defer");

struct loop *loop_create(struct error *err)
{
    struct loop *l = must(calloc(1, sizeof(*l)));
    l->ev = ev_loop_new(EVFLAG_AUTO);
    if (!l->ev) {
        free(l);
        return error_null(error_set(err, ENOSYS, "create an event loop: no epoll"));
    }
    l->signal_fd = -1;
    return l;
}

void loop_destroy(struct loop *l)
{
    if (!l)
        return;
    loop_io_destroy(l->signal_io);
    cleanup_close(&l->signal_fd);
    ev_loop_destroy(l->ev);
    free(l);
}

void loop_run(struct loop *l)
{
    ev_run(l->ev, 0);
}

void loop_stop(struct loop *l)
{
    ev_break(l->ev, EVBREAK_ALL);
}

double loop_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

unsigned long long loop_wallclock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (unsigned long long)t.tv_sec * 1000000000ULL + (unsigned long long)t.tv_nsec;
}

static void io_ready(struct ev_loop *ev, ev_io *w, int revents)
{
    struct loop_io *io = w->data;
    io->fn(io->arg, w->fd, (unsigned)revents & (LOOP_READ | LOOP_WRITE));
}

struct loop_io *loop_io_create(struct loop *l, int fd, unsigned events, loop_io_fn fn, void *arg)
{
    struct loop_io *io = must(calloc(1, sizeof(*io)));
    io->loop = l;
    io->fn = fn;
    io->arg = arg;
    ev_io_init(&io->w, io_ready, fd, (int)events);
    io->w.data = io;
    if (events)
        ev_io_start(l->ev, &io->w);
    return io;
}

unsigned loop_io_events(const struct loop_io *io)
{
    return ev_is_active(&io->w) ? (unsigned)io->w.events & (LOOP_READ | LOOP_WRITE) : 0;
}

void loop_io_set(struct loop_io *io, unsigned events)
{
    if (events == loop_io_events(io))
        return;
    ev_io_stop(io->loop->ev, &io->w);
#ifdef ev_io_modify
    ev_io_modify(&io->w, (int)events); /* no system call when the same events are asked for again */
#else
    ev_io_set(&io->w, io->w.fd, (int)events);
#endif
    if (events)
        ev_io_start(io->loop->ev, &io->w);
}

void loop_io_destroy(struct loop_io *io)
{
    if (!io)
        return;
    ev_io_stop(io->loop->ev, &io->w);
    free(io);
}

static ev_timer *timer_watcher(const struct loop_timer *t)
{
    return (ev_timer *)(uintptr_t)t->watcher;
}

static void timer_fired(struct ev_loop *ev, ev_timer *w, int revents)
{
    struct loop_timer *t = w->data;
    t->fn(t->arg);
}

void loop_timer_init(struct loop_timer *t, struct loop *l, loop_fn fn, void *arg)
{
    t->loop = l;
    t->fn = fn;
    t->arg = arg;
    ev_timer_init(timer_watcher(t), timer_fired, 0., 0.);
    timer_watcher(t)->data = t;
}

void loop_timer_start(struct loop_timer *t, double after, double every)
{
    if (!(after > 0)) /* NaN too: it would put the loop's heap of timers out of order */
        after = 0;
    ev_timer_stop(t->loop->ev, timer_watcher(t));
    ev_now_update(t->loop->ev); /* a long callback must not shorten the time */
    ev_timer_set(timer_watcher(t), after, every);
    ev_timer_start(t->loop->ev, timer_watcher(t));
}

void loop_timer_stop(struct loop_timer *t)
{
    if (t->loop)
        ev_timer_stop(t->loop->ev, timer_watcher(t));
}

bool loop_timer_is_active(const struct loop_timer *t)
{
    return t->loop && ev_is_active(timer_watcher(t));
}

static ev_prepare *defer_watcher(struct loop_defer *d)
{
    return (ev_prepare *)(void *)d->watcher;
}

static ev_idle *defer_idle(struct loop_defer *d) /* keeps the loop from waiting */
{
    return (ev_idle *)(void *)d->idle;
}

static void defer_run(struct ev_loop *ev, ev_prepare *w, int revents)
{
    struct loop_defer *d = w->data;
    loop_defer_stop(d);
    d->fn(d->arg);
}

static void idle_run(struct ev_loop *ev, ev_idle *w, int revents)
{
}

void loop_defer_init(struct loop_defer *d, struct loop *l, loop_fn fn, void *arg)
{
    d->loop = l;
    d->fn = fn;
    d->arg = arg;
    ev_prepare_init(defer_watcher(d), defer_run);
    ev_idle_init(defer_idle(d), idle_run);
    defer_watcher(d)->data = d;
}

void loop_defer_schedule(struct loop_defer *d)
{
    ev_prepare_start(d->loop->ev, defer_watcher(d));
    ev_idle_start(d->loop->ev, defer_idle(d));
}

void loop_defer_stop(struct loop_defer *d)
{
    if (!d->loop)
        return;
    ev_prepare_stop(d->loop->ev, defer_watcher(d));
    ev_idle_stop(d->loop->ev, defer_idle(d));
}

static void signals_ready(void *arg, int fd, unsigned events)
{
    struct loop *l = arg;
    struct signalfd_siginfo si;
    while (read(fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
        l->is_signal_timer = si.ssi_code == SI_TIMER;
        l->is_signal_foreign = si.ssi_code <= 0 && !l->is_signal_timer && si.ssi_uid != getuid();
        l->signal_fn(l->signal_arg, (int)si.ssi_signo);
    }
}

bool loop_signal_is_foreign(const struct loop *l)
{
    return l->is_signal_foreign;
}

bool loop_signal_is_timer(const struct loop *l)
{
    return l->is_signal_timer;
}

int loop_signals(struct loop *l, const sigset_t *set, loop_signal_fn fn, void *arg,
                 struct error *err)
{
    if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
        return error_errno(err, errno, "block signals");
    l->signal_fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->signal_fd < 0)
        return error_errno(err, errno, "open a signal descriptor");
    l->signal_fn = fn;
    l->signal_arg = arg;
    l->signal_io = loop_io_create(l, l->signal_fd, LOOP_READ, signals_ready, l);
    return 0;
}
