/* SPDX-License-Identifier: BSD-3-Clause */
/* test-loop.c - callbacks may destroy what they were called for, and nothing scheduled is lost */
#include "common/loop.h"
#include "tests/unit/patience.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct seen {
    struct loop *loop;
    struct loop_io *io, *other;
    struct loop_timer timer;
    struct loop_defer defer;
    int n, limit;
    char order[32];
    int signals[8], nsignals;
};

static void stop(void *arg)
{
    loop_stop(arg);
}

static void too_long(void *arg)
{
    fprintf(stderr, "test-loop: nothing happened for 20 s\n");
    abort();
}

static void run(struct loop *l)
{
    struct loop_timer t;
    loop_timer_init(&t, l, too_long, NULL);
    loop_timer_start(&t, patience(20), 0);
    loop_run(l);
    loop_timer_stop(&t);
}

/* One round, I/O included. */
static void turn(struct loop *l)
{
    struct loop_timer t;
    loop_timer_init(&t, l, stop, l);
    loop_timer_start(&t, 0, 0);
    run(l);
    loop_timer_stop(&t);
}

static void destroys_both(void *arg, int fd, unsigned events)
{
    struct seen *s = arg;
    s->n++;
    loop_io_destroy(s->io);
    loop_io_destroy(s->other);
    s->io = s->other = NULL;
}

static void a_watch_may_stop_itself_and_others(void **state)
{
    struct seen s = {.loop = loop_create(NULL)};
    int a[2], b[2];
    assert_true(pipe(a) == 0 && pipe(b) == 0);
    assert_int_equal(write(a[1], "x", 1) + write(b[1], "x", 1), 2);
    s.io = loop_io_create(s.loop, a[0], LOOP_READ, destroys_both, &s);
    s.other = loop_io_create(s.loop, b[0], LOOP_READ, destroys_both, &s);
    turn(s.loop);
    turn(s.loop);
    assert_int_equal(s.n, 1); /* the other one was ready too, and is not called any more */
    for (int i = 0; i < 2; i++) {
        close(a[i]);
        close(b[i]);
    }
    loop_destroy(s.loop);
}

static void note(void *arg, int fd, unsigned events)
{
    struct seen *s = arg;
    s->n |= (int)events;
}

static void events_can_be_changed(void **state)
{
    struct seen s = {.loop = loop_create(NULL)};
    int p[2];
    assert_int_equal(pipe(p), 0);
    s.io = loop_io_create(s.loop, p[1], 0, note, &s);
    assert_int_equal(loop_io_events(s.io), 0);
    turn(s.loop);
    assert_int_equal(s.n, 0);
    loop_io_set(s.io, LOOP_WRITE);
    loop_io_set(s.io, LOOP_WRITE);
    assert_int_equal(loop_io_events(s.io), LOOP_WRITE);
    turn(s.loop);
    assert_int_equal(s.n, LOOP_WRITE);
    s.n = 0;
    loop_io_set(s.io, 0);
    turn(s.loop);
    assert_int_equal(s.n, 0);
    loop_io_destroy(s.io);
    loop_io_destroy(NULL);
    close(p[0]);
    close(p[1]);
    loop_destroy(s.loop);
}

static void again(void *arg)
{
    struct seen *s = arg;
    if (++s->n < s->limit)
        loop_defer_schedule(&s->defer);
    else
        loop_stop(s->loop);
}

static void what_schedules_itself_runs_again(void **state)
{
    struct seen s = {.loop = loop_create(NULL), .limit = 1000};
    loop_defer_init(&s.defer, s.loop, again, &s);
    loop_defer_schedule(&s.defer);
    loop_defer_schedule(&s.defer); /* once, however often it is asked for */
    run(s.loop);
    assert_int_equal(s.n, 1000);
    loop_defer_stop(&s.defer);
    loop_defer_stop(&(struct loop_defer){0});
    loop_destroy(s.loop);
}

static void schedule_other(void *arg)
{
    struct seen *s = arg;
    s->order[s->n++] = 'a';
    loop_defer_schedule(&s->defer);
}

static void the_other(void *arg)
{
    struct seen *s = arg;
    s->order[s->n++] = 'b';
    loop_stop(s->loop);
}

static void what_is_scheduled_by_another_runs(void **state)
{
    struct seen s = {.loop = loop_create(NULL)};
    struct loop_defer first;
    loop_defer_init(&first, s.loop, schedule_other, &s);
    loop_defer_init(&s.defer, s.loop, the_other, &s);
    loop_defer_schedule(&first);
    run(s.loop);
    assert_string_equal(s.order, "ab");
    loop_defer_stop(&first);
    loop_defer_stop(&s.defer);
    loop_destroy(s.loop);
}

static void defer_ends(void *arg)
{
    struct seen *s = arg;
    s->n++;
    loop_defer_stop(&s->defer);
    loop_stop(s->loop);
}

static void a_defer_may_stop_itself(void **state)
{
    struct seen s = {.loop = loop_create(NULL)};
    loop_defer_init(&s.defer, s.loop, defer_ends, &s);
    loop_defer_schedule(&s.defer);
    run(s.loop);
    assert_int_equal(s.n, 1);
    loop_destroy(s.loop);
}

static void tick(void *arg)
{
    struct seen *s = arg;
    if (++s->n < s->limit)
        return;
    loop_timer_stop(&s->timer);
    loop_stop(s->loop);
}

static void a_timer_repeats_and_may_stop_itself(void **state)
{
    struct seen s = {.loop = loop_create(NULL), .limit = 5};
    double begin = loop_now();
    loop_timer_init(&s.timer, s.loop, tick, &s);
    assert_false(loop_timer_is_active(&s.timer));
    loop_timer_start(&s.timer, 0.01, 0.01);
    assert_true(loop_timer_is_active(&s.timer));
    run(s.loop);
    assert_int_equal(s.n, 5);
    assert_true(loop_now() - begin >= 0.045);
    loop_timer_stop(&(struct loop_timer){0});
    loop_destroy(s.loop);
}

static void strange_times_fire_at_once(void **state)
{
    static const double strange[] = {NAN, -5, -INFINITY, 0};
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        struct loop *l = loop_create(NULL);
        struct loop_timer t;
        loop_timer_init(&t, l, stop, l);
        loop_timer_start(&t, strange[i], 0);
        double begin = loop_now();
        run(l);
        assert_true(loop_now() - begin < 5);
        assert_false(loop_timer_is_active(&t));
        loop_timer_stop(&t);
        loop_destroy(l);
    }
}

static void on_signal(void *arg, int signo)
{
    struct seen *s = arg;
    s->signals[s->nsignals++] = signo;
    if (s->nsignals == s->limit)
        loop_stop(s->loop);
}

static void signals_come_through_the_loop(void **state)
{
    struct seen s = {.loop = loop_create(NULL), .limit = 2};
    struct error e;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    assert_int_equal(loop_signals(s.loop, &set, on_signal, &s, &e), 0);
    raise(SIGUSR1); /* blocked: neither handler nor death */
    raise(SIGTERM);
    assert_int_equal(s.nsignals, 0);
    run(s.loop);
    assert_int_equal(s.signals[0] + s.signals[1], SIGUSR1 + SIGTERM);
    loop_destroy(s.loop);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_may_stop_itself_and_others),
        cmocka_unit_test(events_can_be_changed),
        cmocka_unit_test(what_schedules_itself_runs_again),
        cmocka_unit_test(what_is_scheduled_by_another_runs),
        cmocka_unit_test(a_defer_may_stop_itself),
        cmocka_unit_test(a_timer_repeats_and_may_stop_itself),
        cmocka_unit_test(strange_times_fire_at_once),
        cmocka_unit_test(signals_come_through_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
