/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.h - the one event loop of a program, over libev
 *
 * Single-threaded. Callbacks are short and never wait. Watches may be destroyed in any callback,
 * their own included. */
#ifndef COMMON_LOOP_H
#define COMMON_LOOP_H

#include <signal.h>

#include "common/error.h"

struct loop;
struct loop_io;
struct loop_timer;
struct loop_defer;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

typedef void (*loop_io_fn)(void *arg, int fd, unsigned events);
typedef void (*loop_fn)(void *arg);
typedef void (*loop_signal_fn)(void *arg, int signo);

struct loop *loop_create(struct error *err);
void loop_destroy(struct loop *l);
/* Until loop_stop(). */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* CLOCK_MONOTONIC in seconds. */
double loop_now(void);
/* CLOCK_REALTIME in nanoseconds: the "time at the source" of output. */
unsigned long long loop_wallclock_ns(void);

/* events: LOOP_READ|LOOP_WRITE, or 0 for a watch that waits to be set. NULL: out of memory. */
struct loop_io *loop_io_create(struct loop *l, int fd, unsigned events, loop_io_fn fn, void *arg);
void loop_io_set(struct loop_io *w, unsigned events);
unsigned loop_io_events(const struct loop_io *w);
void loop_io_destroy(struct loop_io *w); /* NULL is fine; never closes fd */

struct loop_timer *loop_timer_create(struct loop *l, loop_fn fn, void *arg);
/* Fire after `after` seconds, then every `every` seconds (0: once). Restarts a running timer. */
void loop_timer_start(struct loop_timer *t, double after, double every);
void loop_timer_stop(struct loop_timer *t);
int loop_timer_active(const struct loop_timer *t);
void loop_timer_destroy(struct loop_timer *t);

/* fn runs once before the loop next waits, each time it is scheduled. */
struct loop_defer *loop_defer_create(struct loop *l, loop_fn fn, void *arg);
void loop_defer_schedule(struct loop_defer *d);
void loop_defer_destroy(struct loop_defer *d);

/* In a loop_signal_fn: was the signal sent by another user's process, root's among them? Not so
 * what comes from the kernel or a terminal. */
int loop_signal_is_foreign(const struct loop *l);
int loop_signal_is_timer(const struct loop *l); /* of timer_create() */
/* Block these signals and deliver them through the loop. Called once in a program. */
int loop_signals(struct loop *l, const sigset_t *set, loop_signal_fn fn, void *arg,
                 struct error *err);

#endif
