/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "pmix-server/thread-bridge.h"

enum { THREADS = 4, EACH = 5000 };

struct server { /* a bridge's, as the test has it */
    struct loop *loop;
    struct bridge bridge;
    pthread_t home;
    int next[THREADS]; /* the number that each thread's next item must have */
    int total, wrong;
};

struct numbered {
    struct bridge_item item;
    int thread, number;
};

struct poster {
    struct server *server;
    int thread;
};

static void numbered_run(struct bridge_item *item, struct server *t)
{
    struct numbered *n = (struct numbered *)item;
    if (!pthread_equal(pthread_self(), t->home) || n->number != t->next[n->thread]++)
        t->wrong++;
    if (++t->total == THREADS * EACH)
        loop_stop(t->loop);
    free(n);
}

static void *post_all(void *arg)
{
    struct poster *p = arg;
    for (int i = 0; i < EACH; i++) {
        struct numbered *n = calloc(1, sizeof(*n));
        if (!n)
            abort();
        *n = (struct numbered){{.run = numbered_run}, p->thread, i};
        bridge_post(&p->server->bridge, &n->item);
    }
    return NULL;
}

static void items_of_every_thread_arrive_in_order_in_the_loop(void **state)
{
    struct error err;
    struct server t = {.home = pthread_self()};
    struct poster posters[THREADS];
    pthread_t threads[THREADS];
    assert_non_null(t.loop = loop_create(&err));
    assert_int_equal(bridge_init(&t.bridge, t.loop, &t, &err), 0);
    assert_true(bridge_is_empty(&t.bridge));
    for (int i = 0; i < THREADS; i++) {
        posters[i] = (struct poster){&t, i};
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, &posters[i]), 0);
    }
    loop_run(t.loop);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(t.total, THREADS * EACH);
    assert_int_equal(t.wrong, 0);
    assert_true(bridge_is_empty(&t.bridge));
    loop_io_destroy(t.bridge.io);
    close(t.bridge.wake_fd);
    loop_destroy(t.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_of_every_thread_arrive_in_order_in_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
