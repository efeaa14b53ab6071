/* SPDX-License-Identifier: BSD-3-Clause */
/* test-host-failures.c - what mprun says of hosts that fail together, and its exit code */
#include "launcher/outcome/host-failures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/hosts/host-links.h"
#include "launcher/outcome/verdict.h"

#define HOSTS 4

struct fixture {
    struct loop *loop;
    struct loop_defer turn;
    struct verdict verdict;
    struct step_plan plan;
    struct host host[HOSTS], *used[HOSTS];
    struct host_table table;
    struct host_failures failures;
};

/* No host is behind another here. */
bool host_is_behind(const struct host *h, host_question which, const void *arg)
{
    return false;
}

size_t hosts_list(const struct host_table *t, host_question which, const void *arg, char *buf,
                  size_t size)
{
    size_t n = 0;
    buf[0] = 0;
    for (size_t i = 0; i < HOSTS; i++)
        if (which(arg, t->used[i]))
            snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", n++ ? "," : "",
                     t->used[i]->name);
    return n;
}

static void turn(void *arg)
{
}

static int setup(void **state)
{
    static const char *const names[HOSTS] = {"n1", "n2", "n3", "n4"};
    struct fixture *x = calloc(1, sizeof(*x));
    struct error e;
    assert_non_null(x);
    x->loop = loop_create(&e);
    assert_non_null(x->loop);
    loop_defer_init(&x->turn, x->loop, turn, x);
    verdict_init(&x->verdict, &x->turn);
    x->plan.nused = HOSTS;
    x->table = (struct host_table){.plan = &x->plan, .used = x->used};
    for (uint32_t i = 0; i < HOSTS; i++) {
        x->host[i] = (struct host){.table = &x->table, .name = names[i], .launch_index = i};
        x->used[i] = &x->host[i];
    }
    host_failures_init(&x->failures, x->loop, &x->table, &x->verdict);
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;
    host_failures_free(&x->failures);
    loop_defer_stop(&x->turn);
    loop_destroy(x->loop);
    free(x);
    return 0;
}

static void assert_says(struct fixture *x, int exit_code, const char *text)
{
    host_failures_finish(&x->failures);
    assert_string_equal(x->verdict.text, text);
    assert_int_equal(x->verdict.exit_code, exit_code);
}

/* scancel of a step kills all keepers; srun ends later, as the start client of each host */
static void test_client_says_more_than_any_keeper(void **state)
{
    static const int died[] = {3, 0, 1, 2};
    struct fixture *x = *state;
    char text[64];
    for (size_t i = 0; i < HOSTS; i++) {
        snprintf(text, sizeof(text), "on n%d: its keeper has died", died[i] + 1);
        host_failures_keeper_died(&x->failures, &x->host[died[i]], 125, text);
    }
    host_failures_say(&x->failures); /* all hosts have reported, before srun has ended */
    for (size_t i = 0; i < HOSTS; i++)
        host_failures_add(&x->failures, &x->host[i], false, 137, "killed by %s", "signal 9");
    assert_says(x, 137,
                "hosts n1,n2,n3,n4: they failed together; n4 was the first: "
                "killed by signal 9");
}

static void test_client_says_more_than_the_keeper(void **state)
{
    struct fixture *x = *state;
    host_failures_keeper_died(&x->failures, &x->host[1], 125, "on n2: its keeper has died");
    host_failures_add(&x->failures, &x->host[1], false, 137, "killed by signal 9");
    host_failures_add(&x->failures, &x->host[1], false, 1, "said later");
    assert_says(x, 137, "host n2: killed by signal 9");
}

static void test_keeper_says_less_than_a_client(void **state)
{
    struct fixture *x = *state;
    host_failures_add(&x->failures, &x->host[0], false, 137, "killed by signal 9");
    host_failures_keeper_died(&x->failures, &x->host[0], 125, "on n1: its keeper has died");
    host_failures_add(&x->failures, &x->host[0], false, 1, "said later");
    assert_says(x, 137, "host n1: killed by signal 9");
}

static void test_keeper_alone(void **state)
{
    struct fixture *x = *state;
    host_failures_keeper_died(&x->failures, &x->host[2], 125, "on n3: its keeper has died");
    assert_says(x, 125, "on n3: its keeper has died");
}

int main(void)
{
#define ONE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_client_says_more_than_any_keeper),
        ONE(test_client_says_more_than_the_keeper),
        ONE(test_keeper_says_less_than_a_client),
        ONE(test_keeper_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
