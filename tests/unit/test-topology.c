/* SPDX-License-Identifier: BSD-3-Clause */
/* test-topology.c - cores, words and XML of machines that hwloc makes up, and of this one */
#include "plan/topology.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/machine/cpus.h"

static const char two_packages[] = "pack:2 numa:1 core:2 pu:2";

static struct topology *load_synthetic(const char *description, const char *granted,
                                       struct error *err)
{
    struct idset set = {0};
    if (granted)
        assert_int_equal(idset_parse(granted, &set, NULL), 0);
    setenv("HWLOC_SYNTHETIC", description, 1);
    struct topology *t = topology_load(granted ? &set : NULL, err);
    unsetenv("HWLOC_SYNTHETIC");
    idset_free(&set);
    return t;
}

static void format_cores(const struct plan_topology *t, char *buf, size_t n)
{
    buf[0] = 0;
    for (size_t i = 0; i < t->ncores; i++) {
        char *text = idset_format(&t->cores[i].threads);
        snprintf(buf + strlen(buf), n - strlen(buf), "%s%d:%s", i ? " " : "",
                 t->cores[i].at[LEVEL_PACKAGE], text);
        free(text);
    }
}

static void cores_are_cut_to_the_grant(void **state)
{
    static const struct {
        const char *machine, *granted, *cores; /* package:threads */
    } cases[] = {
        {two_packages, NULL, "0:0-1 0:2-3 1:4-5 1:6-7"},
        {two_packages, "0-3", "0:0-1 0:2-3"},
        {two_packages, "1,4-6", "0:1 1:4-5 1:6"},
        {two_packages, "7,1000", "1:7"},
        {"core:3 pu:1", NULL, "0:0 0:1 0:2"},
        {"pu:2", NULL, "0:0 0:1"}, /* a machine that tells nothing of cores */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_topology cores;
        struct error err;
        char text[256];
        struct topology *t = load_synthetic(cases[i].machine, cases[i].granted, &err);
        assert_non_null(t);
        topology_cores(t, &cores);
        format_cores(&cores, text, sizeof(text));
        assert_string_equal(text, cases[i].cores);
        plan_topology_free(&cores);
        topology_destroy(t);
    }
}

static void a_grant_of_nothing_usable_is_refused(void **state)
{
    struct error err = {0};
    assert_null(load_synthetic(two_packages, "100-101", &err));
    assert_string_equal(err.text,
                        "use the granted hardware threads '100-101': this process may run "
                        "on none of them");
}

static void found(struct topology *t, const char *list, const char *threads)
{
    struct idset ids = {0};
    struct error e = {.text = ""};
    int rc = topology_find_cores(t, list, &ids, &e);
    if (!threads) {
        assert_int_equal(rc, -1);
        assert_non_null(strstr(e.text, list));
    } else {
        char *text = idset_format(&ids);
        assert_int_equal(rc, 0);
        assert_string_equal(text, threads);
        free(text);
    }
    idset_free(&ids);
}

static void cores_are_found_by_socket_and_number(void **state)
{
    struct error err;
    struct topology *t = load_synthetic("package:2 core:3 pu:2", NULL, &err);
    assert_non_null(t);
    found(t, "0,0", "0-1");
    found(t, "0,2:1,0:1,1", "4-9");
    found(t, "0,0:0,0", "0-1");
    found(t, "0,3:2,0:1,2", "10-11"); /* what is not there is left out */
    found(t, "7,7", "");
    static const char *const wrong[] = {"0", "0,", "0,0,0", "0,0 0,1", "a", "0,0;"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        found(t, wrong[i], NULL);
    topology_destroy(t);
}

static void threads_are_described_in_words(void **state)
{
    static const struct {
        const char *threads, *words;
    } cases[] = {
        {"2-3", "package 0 core 1, hardware threads 2-3"},
        {"2", "package 0 core 1, hardware thread 2"},
        {"0-3", "package 0 cores 0-1, hardware threads 0-3"},
        {"6-7", "package 1 core 1, hardware threads 6-7"},
        {"3-4", "package 0 core 1, package 1 core 0, hardware threads 3-4"},
        {"", "no hardware thread"},
    };
    struct error err;
    struct topology *t = load_synthetic(two_packages, NULL, &err);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct idset set = {0};
        assert_int_equal(idset_parse(cases[i].threads, &set, NULL), 0);
        char *words = topology_describe(t, &set);
        assert_string_equal(words, cases[i].words);
        free(words);
        idset_free(&set);
    }
    topology_destroy(t);
}

/* This machine is that of the XML until forget_xml(). */
static char *write_xml(const char *xml)
{
    char *path = strdup("/tmp/mprun-test-topology-XXXXXX");
    int fd = mkstemp(path);
    assert_int_equal(write(fd, xml, strlen(xml)), strlen(xml));
    close(fd);
    setenv("HWLOC_XMLFILE", path, 1);
    return path;
}

static void forget_xml(char *path)
{
    unsetenv("HWLOC_XMLFILE");
    unlink(path);
    free(path);
}

static void the_xml_is_of_the_whole_machine_and_can_be_loaded(void **state)
{
    struct error err;
    size_t len = 0;
    struct topology *t = load_synthetic(two_packages, "0-1", &err);
    const char *xml = topology_xml(t, &len);
    assert_non_null(xml);
    assert_int_equal(strlen(xml), len);
    assert_ptr_equal(topology_xml(t, NULL), xml);
    char *path = write_xml(xml);
    struct topology *again = topology_load(NULL, &err);
    forget_xml(path);
    assert_non_null(again);
    struct plan_topology cores;
    topology_cores(again, &cores);
    assert_int_equal(cores.ncores, 4);
    plan_topology_free(&cores);
    topology_destroy(again);
    topology_destroy(t);
}

/* As in a cpuset that has not all of the machine. */
static void granted_cores_are_counted_with_those_that_may_not_be_used(void **state)
{
    struct error err;
    struct topology *whole = load_synthetic(two_packages, NULL, &err);
    char *xml = strdup(topology_xml(whole, NULL)), *allowed = strstr(xml, "allowed_cpuset=\"0x");
    assert_non_null(allowed);
    memcpy(strstr(allowed, "ff\""), "cc", 2); /* 2-3 and 6-7 */
    char *path = write_xml(xml);
    struct topology *t = topology_load(NULL, &err);
    assert_non_null(t);
    found(t, "0,1:1,1", "2-3,6-7");
    found(t, "1,0", "4-5"); /* the caller leaves it out */
    forget_xml(path);
    topology_destroy(t);
    topology_destroy(whole);
    free(xml);
}

static void the_environment_is_as_it_was(void **state)
{
    struct error err;
    setenv("HWLOC_PLUGINS_PATH", "/some/where", 1);
    topology_destroy(load_synthetic(two_packages, NULL, &err));
    assert_string_equal(getenv("HWLOC_PLUGINS_PATH"), "/some/where");
    unsetenv("HWLOC_PLUGINS_PATH");
    topology_destroy(load_synthetic(two_packages, NULL, &err));
    assert_null(getenv("HWLOC_PLUGINS_PATH"));
}

static size_t cores_found(void)
{
    struct error err;
    struct plan_topology cores;
    struct topology *t = topology_load(NULL, &err);
    assert_non_null(t);
    char *picture = topology_picture(t, &(struct idset){0});
    assert_non_null(picture);
    size_t n = 0;
    for (const char *at = picture; *at; at++)
        n += *at == '[' || *at == '/';
    free(picture);
    topology_cores(t, &cores);
    plan_topology_free(&cores);
    topology_destroy(t);
    return n;
}

/* The machine that is looked at is another one than that which is loaded. */
static void what_was_looked_at_is_used_once_if_all_allowed_threads_are_in_it(void **state)
{
    struct error err;
    struct idset allowed = {0};
    size_t here = cores_found();
    assert_int_equal(cpus_allowed(&allowed, &err), 0);
    setenv("HWLOC_SYNTHETIC", "package:3 core:1024 pu:1", 1);
    topology_look();
    unsetenv("HWLOC_SYNTHETIC");
    topology_look();
    assert_int_equal(cores_found(), 3 * 1024);
    assert_int_equal(cores_found(), here);
    setenv("HWLOC_SYNTHETIC", "core:1 pu:1", 1);
    topology_look();
    unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(cores_found(),
                     idset_count(&allowed) == 1 && idset_has(&allowed, 0) ? 1 : here);
    idset_free(&allowed);
}

/* As a process that is bound to one hardware thread. */
static int sees_only(int cpu)
{
    struct error err;
    struct plan_topology cores;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        return 1;
    struct topology *t = topology_load(NULL, &err);
    if (!t)
        return 2;
    topology_cores(t, &cores);
    int right = cores.ncores == 1 && idset_count(&cores.cores[0].threads) == 1 &&
                idset_has(&cores.cores[0].threads, (unsigned)cpu);
    return right ? 0 : 3;
}

static void this_machine_agrees_with_the_kernel_and_the_affinity_counts(void **state)
{
    struct error err;
    struct plan_topology cores;
    struct idset allowed = {0};
    int status;
    assert_int_equal(cpus_allowed(&allowed, &err), 0);
    struct topology *t = topology_load(NULL, &err);
    assert_non_null(t);
    topology_cores(t, &cores);
    assert_int_equal(cores.ncores, cpus_count_cores(&allowed));
    for (size_t i = 0; i < cores.ncores; i++)
        idset_subtract(&allowed, &cores.cores[i].threads);
    assert_int_equal(idset_count(&allowed), 0);
    int last = idset_next(&cores.cores[cores.ncores - 1].threads, 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(sees_only(last));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    plan_topology_free(&cores);
    topology_destroy(t);
    idset_free(&allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_are_cut_to_the_grant),
        cmocka_unit_test(a_grant_of_nothing_usable_is_refused),
        cmocka_unit_test(cores_are_found_by_socket_and_number),
        cmocka_unit_test(threads_are_described_in_words),
        cmocka_unit_test(the_xml_is_of_the_whole_machine_and_can_be_loaded),
        cmocka_unit_test(granted_cores_are_counted_with_those_that_may_not_be_used),
        cmocka_unit_test(the_environment_is_as_it_was),
        cmocka_unit_test(what_was_looked_at_is_used_once_if_all_allowed_threads_are_in_it),
        cmocka_unit_test(this_machine_agrees_with_the_kernel_and_the_affinity_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
