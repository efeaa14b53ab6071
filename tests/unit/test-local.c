/* SPDX-License-Identifier: BSD-3-Clause */
/* test-local.c - the adapter without a resource manager: its hosts, and starting on them */
#include "rm-adapters/adapter.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/machine/cpus.h"
#include "tests/unit/patience.h"

static void read_ok(const char *argument, struct allocation *a)
{
    struct error err = {0};
    if (rm_adapter_local.read_allocation(&(struct host_request){.argument = argument}, a, &err) < 0)
        fail_msg("%s", err.text);
}

static void this_machine_is_one_host_with_a_slot_per_allowed_core(void **state)
{
    struct allocation a = {0};
    struct idset allowed = {0};
    char name[256];
    read_ok(NULL, &a);
    assert_int_equal(a.nhosts, 1);
    assert_string_equal(a.job_id, "");
    assert_true(a.may_oversubscribe);
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    assert_string_equal(a.hosts[0].name, name);
    assert_int_equal(cpus_allowed(&allowed, NULL), 0);
    assert_int_equal(a.hosts[0].slots.value, cpus_count_cores(&allowed));
    assert_string_equal(a.hosts[0].slots.source, "cores of this machine");
    assert_false(a.hosts[0].cores_known);
    idset_free(&allowed);
    allocation_free(&a);
}

static void several_hosts_have_names_slots_and_cores(void **state)
{
    struct allocation a = {0};
    struct idset allowed = {0}, left = {0};
    char name[256], want[300];
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    assert_int_equal(cpus_allowed(&allowed, NULL), 0);
    unsigned ncores = cpus_count_cores(&allowed);
    for (unsigned n = 1; n <= 64; n = n < 4 ? n + 1 : n * 4) {
        char argument[8];
        snprintf(argument, sizeof(argument), "%u", n);
        read_ok(argument, &a);
        assert_int_equal(a.nhosts, n);
        idset_copy(&left, &allowed);
        for (unsigned i = 0; i < n; i++) {
            snprintf(want, sizeof(want), "%s-%u", name, i);
            assert_string_equal(a.hosts[i].name, want);
            assert_true(a.hosts[i].slots.value >= 1);
            assert_true(a.hosts[i].cores_known);
            size_t before = idset_count(&left);
            idset_subtract(&left, &a.hosts[i].cores);
            if (n <= ncores) /* disjoint: each takes something that is left */
                assert_int_equal(before - idset_count(&left), idset_count(&a.hosts[i].cores));
        }
        assert_int_equal(idset_count(&left), 0); /* no core is left out */
        if (n <= ncores)
            assert_int_equal(allocation_slots(&a), ncores);
        allocation_free(&a);
    }
    idset_free(&allowed);
    idset_free(&left);
}

static void a_wrong_number_of_hosts_is_refused_with_the_range(void **state)
{
    static const char *const wrong[] = {"0",  "65", "-1", "two",
                                        "2x", "",   " 2", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct allocation a = {0};
        struct error err = {0};
        assert_int_equal(rm_adapter_local.read_allocation(
                             &(struct host_request){.argument = wrong[i]}, &a, &err),
                         -1);
        if (!strstr(err.text, "local:N") || !strstr(err.text, "64"))
            fail_msg("'%s': %s", wrong[i], err.text);
        assert_int_equal(a.nhosts, 0);
    }
}

static void the_registry_knows_local_and_detects_it_last(void **state)
{
    char reason[256] = "";
    assert_non_null(rm_adapter_detect(&(struct host_request){0}, reason, sizeof(reason)));
    assert_true(strlen(reason) > 0);
    size_t n = 0;
    for (; rm_adapters[n]; n++) {
        assert_non_null(rm_adapters[n]->name);
        assert_non_null(rm_adapters[n]->start);
    }
    assert_ptr_equal(rm_adapters[n - 1], &rm_adapter_local);
    assert_true(rm_adapter_local.detect(&(struct host_request){0}, reason, sizeof(reason)));
}

/* ---- starting -------------------------------------------------------------------------------- */

struct run {
    struct loop *loop;
    struct reaper *reaper;
    struct starting *starting;
    struct allocation allocation;
    struct start_channel channels[8];
    int opened[8], ended[8], failed[8], status[8];
    int orphans, order[8], norder;
    int finished;     /* hosts that ended or failed */
    int cancel_after; /* cancel when so many are open; 0: never */
    char error[1024];
};

static void count_event(struct run *r, size_t host, enum start_event event, int status,
                        const struct error *err)
{
    if (event == START_CHANNEL_ENDED) {
        assert_true(r->opened[host]);
        r->ended[host]++;
        r->status[host] = status;
    } else {
        assert_non_null(err);
        r->failed[host]++;
        snprintf(r->error, sizeof(r->error), "%s", err->text);
    }
    if (++r->finished == (int)r->allocation.nhosts)
        loop_stop(r->loop);
}

static void on_event(void *arg, size_t host, enum start_event event,
                     const struct start_channel *channel, int status, const struct error *err)
{
    struct run *r = arg;
    if (event != START_CHANNEL_OPEN) {
        count_event(r, host, event, status, err);
        return;
    }
    r->opened[host]++;
    r->channels[host] = *channel;
    r->order[r->norder++] = (int)host;
    assert_int_equal(channel->err_fd, -1);
    assert_int_equal(getpgid(channel->pid), channel->pid); /* a group of its own */
    if (r->cancel_after == r->norder)
        rm_adapter_local.cancel(r->starting);
}

static void on_orphan(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    ((struct run *)arg)->orphans++;
}

static void on_signal(void *arg, int signo)
{
    reaper_collect(((struct run *)arg)->reaper);
}

static void on_timeout(void *arg)
{
    fail_msg("nothing happens any more");
}

static bool is_not_elsewhere(void *arg, size_t host)
{
    return false;
}

static void run_start(struct run *r, const char *hosts, const char *path, const char *script)
{
    struct error err = {0};
    char *argv[] = {"starter", "-c", (char *)script, NULL};
    sigset_t set;
    read_ok(hosts, &r->allocation);
    r->loop = loop_create(&err);
    r->reaper = reaper_create(on_orphan, r);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    assert_int_equal(loop_signals(r->loop, &set, on_signal, r, &err), 0);
    struct start_request request = {
        .loop = r->loop,
        .is_elsewhere = is_not_elsewhere,
        .reaper = r->reaper,
        .allocation = &r->allocation,
        .starter_path = path,
        .starter_argv = argv,
        .umask = -1,
        .event = on_event,
        .arg = r,
    };
    r->starting = rm_adapter_local.start(&request, &err);
    assert_non_null(r->starting);
    assert_int_equal(r->norder, 0); /* events come from the loop */
    struct loop_timer timeout;
    loop_timer_init(&timeout, r->loop, on_timeout, NULL);
    loop_timer_start(&timeout, patience(20), 0);
    loop_run(r->loop);
    loop_timer_stop(&timeout);
}

static void run_free(struct run *r)
{
    rm_adapter_local.destroy(r->starting);
    for (size_t i = 0; i < r->allocation.nhosts; i++)
        if (r->opened[i]) {
            close(r->channels[i].in_fd);
            close(r->channels[i].out_fd);
        }
    reaper_destroy(r->reaper);
    loop_destroy(r->loop);
    allocation_free(&r->allocation);
}

static void every_host_opens_once_in_order_and_ends_with_its_status(void **state)
{
    struct run r = {0};
    run_start(&r, "4", "/bin/sh", "exit 3");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(r.order[i], i);
        assert_int_equal(r.opened[i], 1);
        assert_int_equal(r.ended[i], 1);
        assert_int_equal(r.failed[i], 0);
        assert_true(WIFEXITED(r.status[i]));
        assert_int_equal(WEXITSTATUS(r.status[i]), 3);
    }
    assert_int_equal(r.orphans, 0);
    run_free(&r);
}

static void the_channel_carries_both_ways_and_nothing_else_is_open(void **state)
{
    struct run r = {0};
    char text[256] = "";
    run_start(&r, "1", "/bin/sh", "exec ls /proc/self/fd");
    assert_true(read(r.channels[0].out_fd, text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "0\n1\n2\n3\n"); /* 3 is the directory that ls reads */
    run_free(&r);

    r = (struct run){0};
    run_start(&r, "1", "/bin/sh", "echo hello");
    memset(text, 0, sizeof(text));
    assert_true(read(r.channels[0].out_fd, text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "hello\n");
    assert_int_equal(read(r.channels[0].out_fd, text, 1), 0); /* only the starter held it */
    run_free(&r);
}

static void a_starter_that_is_not_there_is_named_with_its_host(void **state)
{
    struct run r = {0};
    run_start(&r, "2", "/no/such/mpstarter", "");
    assert_int_equal(r.failed[0], 1);
    assert_int_equal(r.failed[1], 1);
    assert_int_equal(r.opened[0] + r.ended[0], 0);
    assert_non_null(strstr(r.error, "start the starter of host '"));
    assert_non_null(strstr(r.error, r.allocation.hosts[1].name));
    assert_non_null(strstr(r.error, "/no/such/mpstarter"));
    assert_non_null(strstr(r.error, "No such file or directory"));
    run_free(&r);
}

static void cancel_ends_what_runs_and_begins_nothing_more(void **state)
{
    struct run r = {.cancel_after = 2};
    run_start(&r, "4", "/bin/sh", "read line");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r.ended[i], 1);
        assert_true(WIFSIGNALED(r.status[i]));
        assert_int_equal(WTERMSIG(r.status[i]), SIGTERM);
    }
    for (int i = 2; i < 4; i++) {
        assert_int_equal(r.opened[i], 0);
        assert_int_equal(r.failed[i], 1);
    }
    assert_non_null(strstr(r.error, "cancelled"));
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_machine_is_one_host_with_a_slot_per_allowed_core),
        cmocka_unit_test(several_hosts_have_names_slots_and_cores),
        cmocka_unit_test(a_wrong_number_of_hosts_is_refused_with_the_range),
        cmocka_unit_test(the_registry_knows_local_and_detects_it_last),
        cmocka_unit_test(every_host_opens_once_in_order_and_ends_with_its_status),
        cmocka_unit_test(the_channel_carries_both_ways_and_nothing_else_is_open),
        cmocka_unit_test(a_starter_that_is_not_there_is_named_with_its_host),
        cmocka_unit_test(cancel_ends_what_runs_and_begins_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
