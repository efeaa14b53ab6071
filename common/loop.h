/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.h - the one event loop of a program, over libev
 *
 * Single-threaded. Callbacks are short and never wait. Watches may be destroyed in any callback,
 * their own included. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "common/error.h"

struct loop;
struct loop_io;

enum { LOOP_READ = 1, LOOP_WRITE = 2 }; /* as libev has them */

typedef void (*loop_io_fn)(void *arg, int fd, unsigned events);
typedef void (*loop_fn)(void *arg);
typedef void (*loop_signal_fn)(void *arg, int signo);

struct loop *loop_create(struct error *err);
void loop_destroy(struct loop *l);
/* Run callbacks until loop_stop(). */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* CLOCK_MONOTONIC in seconds. */
double loop_now(void);
/* CLOCK_REALTIME in nanoseconds: when output was written, for people. */
unsigned long long loop_wallclock_ns(void);

/* Call fn when the descriptor is ready. events: LOOP_READ|LOOP_WRITE; 0: not yet, loop_io_set()
 * says more. */
struct loop_io *loop_io_create(struct loop *l, int fd, unsigned events, loop_io_fn fn, void *arg);
void loop_io_set(struct loop_io *w, unsigned events);
unsigned loop_io_events(const struct loop_io *w);
void loop_io_destroy(struct loop_io *w); /* NULL is fine; never closes fd */

/* Timers and deferred calls are members of their user's struct, so setting one up cannot fail.
 * While one is active, that struct must not move, and must be stopped before it is freed. Stopping
 * one that is zero, because it was not set up yet, does nothing. */
struct loop_timer {
    struct loop *loop;
    loop_fn fn;
    void *arg;
    _Alignas(double) unsigned char watcher[48]; /* loop.c: libev's */
};
void loop_timer_init(struct loop_timer *t, struct loop *l, loop_fn fn, void *arg);
/* Fire after `after` seconds, then every `every` seconds (0: once). Restarts a running timer. */
void loop_timer_start(struct loop_timer *t, double after, double every);
void loop_timer_stop(struct loop_timer *t);
bool loop_timer_is_active(const struct loop_timer *t);

struct loop_defer {
    struct loop *loop;
    loop_fn fn;
    void *arg;
    _Alignas(double) unsigned char watcher[48], idle[48]; /* loop.c: libev's */
};
void loop_defer_init(struct loop_defer *d, struct loop *l, loop_fn fn, void *arg);
/* Call fn once before the loop next waits. */
void loop_defer_schedule(struct loop_defer *d);
void loop_defer_stop(struct loop_defer *d);

/* For a loop_signal_fn: whether a process of another user, root among them, sent the signal.
 * Signals of the kernel or a terminal are not foreign. */
bool loop_signal_is_foreign(const struct loop *l);
/* For a loop_signal_fn: whether a timer of timer_create() sent the signal. */
bool loop_signal_is_timer(const struct loop *l);
/* Block these signals and deliver them through the loop. Called once in a program. 0, or -1 with
 * err. */
int loop_signals(struct loop *l, const sigset_t *set, loop_signal_fn fn, void *arg,
                 struct error *err);
