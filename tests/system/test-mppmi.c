/* SPDX-License-Identifier: BSD-3-Clause */
/* mppmi with real Open MPI and PMIx programs as ranks; pmi-play.h plays the rest of mprun */
#include <stdarg.h>
#include <setjmp.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/processes/sanitizers.h"
#include "common/loop.h"
#include "common/processes/proc.h"
#include "tests/system/pmi-play.h"
#include "wire/link/link.h"
#include "wire/mprun.pb-c.h"

static const char *program(const char *name)
{
    static char path[4096];
    const char *build = getenv("MPRUN_BUILD");
    snprintf(path, sizeof(path), "%s/tests/system/%s", build ? build : ".", name);
    if (access(path, X_OK) < 0) /* no MPI to compile it with */
        skip();
    return path;
}

static struct play *create(struct play_options o)
{
    struct error err;
    o.keep_output = 1;
    struct play *p = play_create(&o, &err);
    if (!p)
        fail_msg("%s", err.text);
    return p;
}

static struct play *hosts(int nhosts, int ranks_per_host)
{
    return create((struct play_options){.nhosts = nhosts, .ranks_per_host = ranks_per_host});
}

static void run(struct play *p, const char *name, const char *command, const char *argument)
{
    char *argv[] = {(char *)program(name), (char *)command, (char *)argument, NULL};
    if (play_run(p, argv) < 0)
        fail_msg("not finished in time");
}

static void assert_clean(const struct play *p)
{
    for (int i = 0; i < p->options.nhosts; i++) {
        assert_string_equal(p->hosts[i].failed, "");
        assert_int_equal(p->hosts[i].mppmi, 0);
        assert_int_equal(p->hosts[i].mppmi_status, 0);
        assert_int_equal(play_leftovers(p, i), 0);
    }
}

/* Whoever fails ends the others, perhaps before they have an output. */
static void tell_all(const struct play *p)
{
    for (int i = 0; i < p->nranks; i++) {
        char *text = play_output(p, i);
        print_message("# rank %d, status %x: %s\n", i, (unsigned)p->ranks[i].status,
                      text ? text : strerror(errno));
        free(text);
    }
}

static void assert_output(const struct play *p, int rank, const char *wanted)
{
    char *text = play_output(p, rank);
    if (!text)
        tell_all(p);
    assert_non_null(text);
    if (!strstr(text, wanted))
        fail_msg("rank %d said '%s', not '%s'", rank, text, wanted);
    free(text);
}

/* All ranks found each other, came and went once, and mppmi left nothing. */
static void assert_hello(const struct play *p)
{
    int n = p->nranks;
    for (int i = 0; i < n; i++) {
        char line[128];
        snprintf(line, sizeof(line), "rank %d size %d local %d universe %d sum %d\n", i, n,
                 p->options.ranks_per_host, n, n * (n + 1) / 2);
        assert_output(p, i, line);
        assert_int_equal(p->ranks[i].status, 0);
        assert_int_equal(p->ranks[i].connects, 1);
        assert_int_equal(p->ranks[i].finalizes_at_end, 1);
        assert_int_equal(p->ranks[i].finalizes, 1);
    }
    assert_clean(p);
}

static void open_mpi_runs_on_one_host(void **state)
{
    struct play *p = hosts(1, 4);
    run(p, "mpi-probe", "hello", NULL);
    assert_hello(p);
    assert_int_equal(p->collects, 0);
    play_destroy(p);
}

static void open_mpi_runs_on_two_hosts(void **state)
{
    struct play *p = hosts(2, 2);
    run(p, "mpi-probe", "hello", NULL);
    assert_hello(p);
    assert_true(p->collects >= 6);
    play_destroy(p);
}

static void open_mpi_runs_on_three_hosts_with_direct_modex(void **state)
{
    static const char *const env[] = {"OMPI_MCA_pmix_base_collect_data=0",
                                      "OMPI_MCA_pmix_base_async_modex=1", NULL};
    struct play *p = create((struct play_options){.nhosts = 3, .ranks_per_host = 1, .env = env});
    run(p, "mpi-probe", "hello", NULL);
    assert_hello(p);
    assert_true(p->requests > 0);
    assert_int_equal(p->requests, p->replies);
    play_destroy(p);
}

static void open_mpi_runs_when_the_library_looks_at_the_machine_itself(void **state)
{
    struct play *p =
        create((struct play_options){.nhosts = 1, .ranks_per_host = 2, .no_topology = 1});
    run(p, "mpi-probe", "hello", NULL);
    assert_hello(p);
    play_destroy(p);
}

static void ranks_know_what_they_are_bound_to(void **state)
{
    struct play *p = create((struct play_options){.nhosts = 2, .ranks_per_host = 1, .bind = 1});
    run(p, "pmix-probe", "keys", NULL);
    for (int i = 0; i < 2; i++) {
        assert_output(p, i, "pmix.cpuset  PMIX_VALUE:  Data type: PMIX_STRING\tValue: hwloc:0\n");
        assert_output(p, i, "pmix.locstr  PMIX_VALUE:  Data type: PMIX_STRING\tValue: ");
    }
    assert_output(p, 1, "pmix.hname  PMIX_VALUE:  Data type: PMIX_STRING\tValue: vm-1\n");
    assert_output(p, 1, "pmix.num.nodes  PMIX_VALUE:  Data type: PMIX_UINT32\tValue: 2\n");
    assert_clean(p);
    play_destroy(p);
}

static void bound_open_mpi_runs(void **state)
{
    struct play *p = create((struct play_options){.nhosts = 1, .ranks_per_host = 3, .bind = 1});
    run(p, "mpi-probe", "hello", NULL);
    assert_hello(p);
    play_destroy(p);
}

static void the_environment_is_that_of_all_ranks(void **state)
{
    struct play *p = hosts(1, 2);
    run(p, "pmix-probe", "init", NULL);
    const struct play_host *h = &p->hosts[0];
    assert_null(play_env(h, "PMIX_RANK"));
    assert_non_null(play_env(h, "PMIX_NAMESPACE"));
    assert_string_equal(play_env(h, "PMIX_SERVER_TMPDIR"), h->directory);
    assert_string_equal(play_env(h, "PMIX_HOSTNAME"), "vm-0");
    assert_string_equal(play_env(h, "OMPI_MCA_schizo"), "^orte");
    assert_string_equal(play_env(h, "OMPI_MCA_orte_externally_bound"), "1");
    assert_clean(p);
    play_destroy(p);
}

static void an_outer_launchers_variables_are_forgotten(void **state)
{
    setenv("PMIX_SECURITY_MODE", "none", 1);
    setenv("PMIX_NAMESPACE", "outer", 1);
    struct play *p = hosts(1, 1);
    unsetenv("PMIX_SECURITY_MODE");
    unsetenv("PMIX_NAMESPACE");
    run(p, "pmix-probe", "init", NULL);
    assert_string_equal(play_env(&p->hosts[0], "PMIX_SECURITY_MODE"), "native");
    assert_string_not_equal(play_env(&p->hosts[0], "PMIX_NAMESPACE"), "outer");
    assert_clean(p);
    play_destroy(p);
}

static void abort_is_reported_with_its_code(void **state)
{
    struct play *p = hosts(2, 2);
    run(p, "mpi-probe", "abort", NULL);
    assert_int_equal(p->aborted, 1);
    assert_int_equal(p->abort_rank, 3);
    assert_int_equal(p->abort_code, 7);
    assert_true(p->aborted_before_gone);
    assert_clean(p);
    play_destroy(p);
}

static void a_rank_that_dies_has_not_finalized(void **state)
{
    struct play *p = hosts(1, 3);
    run(p, "mpi-probe", "die", NULL);
    assert_int_equal(p->first_bad, 2);
    assert_true(WIFSIGNALED(p->ranks[2].status));
    assert_int_equal(p->ranks[2].connects, 1);
    assert_int_equal(p->ranks[2].finalizes, 0);
    assert_int_equal(p->aborted, 0);
    assert_clean(p);
    play_destroy(p);
}

static void exit_without_finalize_can_be_told(void **state)
{
    struct play *p = hosts(1, 2);
    run(p, "mpi-probe", "leave", NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(p->ranks[i].status, 0);
        assert_int_equal(p->ranks[i].connects, 1);
        assert_int_equal(p->ranks[i].finalizes, 0);
    }
    assert_clean(p);
    play_destroy(p);
}

/* Data of several frames, and the same signature again and again. */
static void fences_carry_large_data(void **state)
{
    struct play *p = hosts(2, 2);
    char *argv[] = {(char *)program("pmix-probe"), (char *)"fences", (char *)"4", (char *)"200000",
                    NULL};
    assert_int_equal(play_run(p, argv), 0);
    for (int i = 0; i < 4; i++)
        assert_output(p, i, "fences ok");
    assert_int_equal(p->collects, 2 * 4);
    assert_clean(p);
    play_destroy(p);
}

static void a_value_is_fetched_from_another_host(void **state)
{
    struct play *p = hosts(2, 1);
    run(p, "pmix-probe", "modex", "150000");
    assert_output(p, 0, "got 150000");
    assert_output(p, 1, "got 150000");
    assert_int_equal(p->requests, 1);
    assert_int_equal(p->replies, 1);
    assert_clean(p);
    play_destroy(p);
}

static void connect_and_disconnect_span_hosts(void **state)
{
    struct play *p = hosts(2, 2);
    run(p, "pmix-probe", "connect", NULL);
    for (int i = 0; i < 4; i++)
        assert_output(p, i, "connect: SUCCESS\ndisconnect: SUCCESS\n");
    assert_int_equal(p->collects, 4);
    assert_clean(p);
    play_destroy(p);
}

static int first_has_ended(const struct play *p)
{
    return p->ranks[0].pid == 0;
}

static void a_fence_ends_at_its_time_limit(void **state)
{
    struct play *p =
        create((struct play_options){.nhosts = 2, .ranks_per_host = 1, .leave_running = 1});
    struct error err;
    char *argv[] = {(char *)program("pmix-probe"), (char *)"timeout", NULL};
    play_begin(p);
    assert_int_equal(play_until(p, play_is_ready), 0);
    assert_int_equal(play_spawn(p, argv, &err), 0);
    assert_int_equal(play_until(p, first_has_ended), 0);
    assert_output(p, 0, "fence: TIMEOUT");
    play_kill_ranks(p, SIGKILL);
    assert_int_equal(play_until(p, play_all_ended), 0);
    assert_int_equal(play_end(p), 0);
    assert_clean(p);
    play_destroy(p);
}

static void names_are_published_and_found(void **state)
{
    struct play *p = hosts(1, 2);
    run(p, "mpi-probe", "publish", NULL);
    assert_output(p, 1, "found 'a port'");
    assert_clean(p);
    play_destroy(p);
}

static void a_lookup_waits_and_a_name_is_taken_once(void **state)
{
    struct play *p = hosts(1, 2);
    run(p, "pmix-probe", "lookup", NULL);
    assert_output(p, 0, "publish: SUCCESS\nagain: DUPLICATE KEY\n");
    assert_output(p, 1, "lookup: SUCCESS a value");
    assert_clean(p);
    play_destroy(p);
}

static void names_are_found_on_other_hosts(void **state)
{
    struct play *p = hosts(2, 1);
    run(p, "pmix-probe", "lookup", NULL);
    assert_output(p, 0, "publish: SUCCESS\nagain: DUPLICATE KEY\n");
    assert_output(p, 1, "lookup: SUCCESS a value");
    assert_clean(p);
    play_destroy(p);
}

static struct play *pmi1_hosts(int nhosts, int ranks_per_host)
{
    return create(
        (struct play_options){.nhosts = nhosts, .ranks_per_host = ranks_per_host, .pmi1 = 1});
}

static void mpich_runs_on_one_host(void **state)
{
    struct play *p = pmi1_hosts(1, 3);
    run(p, "mpi-probe-mpich", "hello", NULL);
    assert_hello(p);
    assert_int_equal(p->collects, 0);
    play_destroy(p);
}

static void mpich_runs_on_two_hosts(void **state)
{
    struct play *p = pmi1_hosts(2, 2);
    run(p, "mpi-probe-mpich", "hello", NULL);
    assert_hello(p);
    assert_true(p->collects > 0);
    play_destroy(p);
}

static void mpich_aborts_with_its_code(void **state)
{
    struct play *p = pmi1_hosts(1, 2);
    run(p, "mpi-probe-mpich", "abort", NULL);
    assert_int_equal(p->aborted, 1);
    assert_int_equal(p->abort_rank, 1);
    assert_int_equal(p->abort_code, 7);
    assert_true(p->aborted_before_gone);
    assert_clean(p);
    play_destroy(p);
}

static void mpich_without_finalize_can_be_told(void **state)
{
    struct play *p = pmi1_hosts(1, 2);
    run(p, "mpi-probe-mpich", "leave", NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(p->ranks[i].status, 0);
        assert_int_equal(p->ranks[i].connects, 1);
        assert_int_equal(p->ranks[i].finalizes, 0);
    }
    assert_clean(p);
    play_destroy(p);
}

static void open_mpi_does_not_mind_pmi1(void **state)
{
    struct play *p = pmi1_hosts(1, 2);
    run(p, "mpi-probe", "hello", NULL);
    assert_hello(p);
    play_destroy(p);
}

/* ---- mppmi's own life ------------------------------------------------------------------------ */

static int server_has_ended(const struct play *p)
{
    return p->hosts[0].mppmi == 0;
}

static void it_goes_and_cleans_when_the_worker_dies(void **state)
{
    struct play *p = hosts(1, 2);
    play_begin(p);
    assert_int_equal(play_until(p, play_is_ready), 0);
    assert_true(play_leftovers(p, 0) > 0);
    link_destroy(p->hosts[0].link);
    p->hosts[0].link = NULL;
    assert_int_equal(play_until(p, server_has_ended), 0);
    assert_int_equal(WEXITSTATUS(p->hosts[0].mppmi_status), 1);
    assert_int_equal(play_leftovers(p, 0), 0);
    play_destroy(p);
}

static void signals_do_not_end_it(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
    struct play *p = hosts(1, 2);
    play_begin(p);
    assert_int_equal(play_until(p, play_is_ready), 0);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        assert_int_equal(kill(p->hosts[0].mppmi, signals[i]), 0);
    struct error err;
    char *argv[] = {(char *)program("mpi-probe"), (char *)"hello", NULL};
    assert_int_equal(play_spawn(p, argv, &err), 0);
    assert_int_equal(play_until(p, play_all_ended), 0);
    assert_int_equal(play_end(p), 0);
    assert_hello(p);
    play_destroy(p);
}

static void assert_refused(struct play *p, const char *why)
{
    link_flush(p->hosts[0].link);
    assert_int_equal(play_until(p, server_has_ended), 0);
    assert_int_equal(WEXITSTATUS(p->hosts[0].mppmi_status), 1);
    if (!strstr(p->hosts[0].failed, why))
        fail_msg("it said '%s', not '%s'", p->hosts[0].failed, why);
    play_destroy(p);
}

static void a_world_before_its_beginning_is_refused(void **state)
{
    struct play *p = hosts(1, 1);
    Mprun__PmiWorld m = MPRUN__PMI_WORLD__INIT;
    m.nspace = (char *)"x";
    link_send(p->hosts[0].link, FRAME_PMI_WORLD, &m.base);
    assert_refused(p, "PMI_INIT has not come");
}

static void a_damaged_message_is_refused(void **state)
{
    struct play *p = hosts(1, 1);
    link_send_bytes(p->hosts[0].link, FRAME_PMI_INIT, "\xff\xff\xff", 3);
    assert_refused(p, "PMI_INIT: it is damaged");
}

static void a_message_for_others_is_refused(void **state)
{
    struct play *p = hosts(1, 1);
    link_send_bytes(p->hosts[0].link, FRAME_LAUNCH, "", 0);
    assert_refused(p, "is not for mppmi");
}

static void a_directory_that_is_not_there_is_named(void **state)
{
    struct play *p = hosts(1, 1);
    Mprun__PmiInit m = MPRUN__PMI_INIT__INIT;
    m.directory = (ProtobufCBinaryData){4, (uint8_t *)"here"};
    m.hostname = (ProtobufCBinaryData){1, (uint8_t *)"h"};
    link_send(p->hosts[0].link, FRAME_PMI_INIT, &m.base);
    assert_refused(p, "no directory");
}

static void a_topology_that_is_none_is_refused(void **state)
{
    struct play *p = hosts(1, 1);
    Mprun__PmiInit m = MPRUN__PMI_INIT__INIT;
    m.directory =
        (ProtobufCBinaryData){strlen(p->hosts[0].directory), (uint8_t *)p->hosts[0].directory};
    m.hostname = (ProtobufCBinaryData){1, (uint8_t *)"h"};
    m.topology_xml = (ProtobufCBinaryData){5, (uint8_t *)"<xml>"};
    link_send(p->hosts[0].link, FRAME_PMI_INIT, &m.base);
    assert_refused(p, "read the topology");
}

static void memory_stays_in_its_budget(void **state)
{
    if (HAS_ADDRESS_SANITIZER) /* its shadow memory is not mppmi's */
        skip();
    struct play *p = hosts(1, 64);
    struct error err;
    struct proc_memory memory;
    char *argv[] = {(char *)program("pmix-probe"), (char *)"fences", (char *)"2", (char *)"100",
                    NULL};
    play_begin(p);
    assert_int_equal(play_until(p, play_is_ready), 0);
    assert_int_equal(play_spawn(p, argv, &err), 0);
    assert_int_equal(play_until(p, play_all_ended), 0);
    assert_int_equal(proc_memory_read(p->hosts[0].mppmi, &memory), 0);
    assert_int_equal(play_end(p), 0);
    for (int i = 0; i < 64; i++)
        assert_output(p, i, "fences ok");
    assert_true(memory.anonymous > 0);
    assert_true(memory.anonymous <= (6 << 20) + 64 * (16 << 10));
    assert_clean(p);
    play_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_mpi_runs_on_one_host),
        cmocka_unit_test(open_mpi_runs_on_two_hosts),
        cmocka_unit_test(open_mpi_runs_on_three_hosts_with_direct_modex),
        cmocka_unit_test(open_mpi_runs_when_the_library_looks_at_the_machine_itself),
        cmocka_unit_test(ranks_know_what_they_are_bound_to),
        cmocka_unit_test(bound_open_mpi_runs),
        cmocka_unit_test(the_environment_is_that_of_all_ranks),
        cmocka_unit_test(an_outer_launchers_variables_are_forgotten),
        cmocka_unit_test(abort_is_reported_with_its_code),
        cmocka_unit_test(a_rank_that_dies_has_not_finalized),
        cmocka_unit_test(exit_without_finalize_can_be_told),
        cmocka_unit_test(fences_carry_large_data),
        cmocka_unit_test(a_value_is_fetched_from_another_host),
        cmocka_unit_test(connect_and_disconnect_span_hosts),
        cmocka_unit_test(a_fence_ends_at_its_time_limit),
        cmocka_unit_test(names_are_published_and_found),
        cmocka_unit_test(a_lookup_waits_and_a_name_is_taken_once),
        cmocka_unit_test(names_are_found_on_other_hosts),
        cmocka_unit_test(mpich_runs_on_one_host),
        cmocka_unit_test(mpich_runs_on_two_hosts),
        cmocka_unit_test(mpich_aborts_with_its_code),
        cmocka_unit_test(mpich_without_finalize_can_be_told),
        cmocka_unit_test(open_mpi_does_not_mind_pmi1),
        cmocka_unit_test(it_goes_and_cleans_when_the_worker_dies),
        cmocka_unit_test(signals_do_not_end_it),
        cmocka_unit_test(a_world_before_its_beginning_is_refused),
        cmocka_unit_test(a_damaged_message_is_refused),
        cmocka_unit_test(a_message_for_others_is_refused),
        cmocka_unit_test(a_directory_that_is_not_there_is_named),
        cmocka_unit_test(a_topology_that_is_none_is_refused),
        cmocka_unit_test(memory_stays_in_its_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
