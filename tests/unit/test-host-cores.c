/* SPDX-License-Identifier: BSD-3-Clause */
/* test-host-cores.c - cores as mprund reads them, of machines that are made up and of this one; and
 * that hwloc counts them in the same way; and as starters read them, which have hwloc asked where
 * these might differ */
#include "node-daemon/front/host/host-cores.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/fdio.h"
#include "common/machine/cpus.h"
#include "plan/plain-machine.h"
#include "plan/topology.h"

static char root[64];

struct thread {
    int cpu, package, node, core; /* core: its number within the package */
    const char *cache;            /* who shares the third one; NULL: there is none */
};

static void put(const char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *text, const char *fmt, ...)
{
    char path[512];
    int n = snprintf(path, sizeof(path), "%s/sys/devices/system/", root);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
    va_end(ap);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", text);
    fclose(f);
}

/* The threads that are like t, as a list and as a mask. */
static void similar(const struct thread *all, size_t n, int package, int core, char *list,
                    char *mask)
{
    struct idset set = {0};
    unsigned long bits = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].package == package && (core < 0 || all[i].core == core)) {
            idset_add(&set, (unsigned)all[i].cpu);
            bits |= 1ul << all[i].cpu;
        }
    char *text = idset_format(&set);
    strcpy(list, text);
    sprintf(mask, "%lx", bits);
    free(text);
    idset_free(&set);
}

static void put_node(const struct thread *all, size_t n, int node)
{
    struct idset set = {0};
    char mask[32];
    unsigned long bits = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].node == node) {
            idset_add(&set, (unsigned)all[i].cpu);
            bits |= 1ul << all[i].cpu;
        }
    char *text = idset_format(&set);
    put(text, "node/node%d/cpulist", node);
    sprintf(mask, "%lx", bits);
    put(mask, "node/node%d/cpumap", node);
    put("MemTotal: 1048576 kB", "node/node%d/meminfo", node);
    free(text);
    idset_free(&set);
}

static int fake(const struct thread *all, size_t n, int nodes)
{
    char list[256], mask[32], number[16], path[128];
    strcpy(root, "/tmp/mprun-test-host-XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < n; i++) {
        const struct thread *t = &all[i];
        similar(all, n, t->package, t->core, list, mask);
        put(list, "cpu/cpu%d/topology/thread_siblings_list", t->cpu);
        put(mask, "cpu/cpu%d/topology/thread_siblings", t->cpu);
        similar(all, n, t->package, -1, list, mask);
        put(list, "cpu/cpu%d/topology/core_siblings_list", t->cpu);
        put(mask, "cpu/cpu%d/topology/core_siblings", t->cpu);
        sprintf(number, "%d", t->package);
        put(number, "cpu/cpu%d/topology/physical_package_id", t->cpu);
        sprintf(number, "%d", t->core);
        put(number, "cpu/cpu%d/topology/core_id", t->cpu);
        if (t->cache)
            put(t->cache, "cpu/cpu%d/cache/index3/shared_cpu_list", t->cpu);
    }
    sprintf(list, "0-%zu", n - 1);
    put(list, "cpu/online");
    if (nodes)
        put(nodes == 1 ? "0" : nodes == 2 ? "0-1" : "0-3", "node/online");
    for (int node = 0; node < nodes; node++)
        put_node(all, n, node);
    snprintf(path, sizeof(path), "%s/sys/devices/system", root);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_fake(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* "0.0.0:0,4 ..." : package, node, cache, threads */
static void describe(const struct host_cores *h, char *buf, size_t size)
{
    buf[0] = 0;
    for (size_t i = 0; i < h->n; i++) {
        const struct host_core *c = &h->core[i];
        char *text = idset_format(&c->threads);
        size_t len = strlen(buf);
        snprintf(buf + len, size - len, "%s%u.%u.%u:%s", i ? " " : "", c->group[NEAR_PACKAGE],
                 c->node, c->group[NEAR_CACHE], text);
        free(text);
    }
}

/* "0,0" and so on: here and by hwloc. */
static void same_by_hwloc(const struct host_cores *h, const struct topology *t)
{
    unsigned char *set = calloc(h->n + 1, 1);
    unsigned asked = 0;
    for (unsigned package = 0; package < h->groups[NEAR_PACKAGE] + 1; package++)
        for (unsigned core = 0; core < h->n + 1; core++) {
            char list[32];
            struct error e;
            struct idset here = {0}, there = {0};
            snprintf(list, sizeof(list), "%u,%u", package, core);
            int n = host_cores_find(h, list, set, &e);
            assert_true(n == 0 || n == 1);
            host_cores_threads(h, set, &here);
            assert_int_equal(topology_find_cores(t, list, &there, &e), 0);
            if (!idset_equal(&here, &there))
                fail_msg("core %s: %s here, %s by hwloc", list, idset_format(&here),
                         idset_format(&there));
            asked += (unsigned)n;
            idset_free(&here);
            idset_free(&there);
        }
    assert_int_equal(asked, h->n);
    free(set);
}

/* Cores in order, "0,4 1,5"; "?": hwloc is to be asked. */
static void plain_of(bool is_plain, struct plan_topology t, char *buf, size_t size)
{
    snprintf(buf, size, "?");
    if (is_plain) {
        buf[0] = 0;
        for (size_t i = 0; i < t.ncores; i++) {
            char *text = idset_format(&t.cores[i].threads);
            assert_int_equal(t.cores[i].at[LEVEL_CORE], i);
            snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", i ? " " : "", text);
            free(text);
        }
        plan_topology_free(&t);
    }
}
/* Of a plain machine, those that are usable can also be cut from all. */
static void plain(int fd, const char *usable, char *buf, size_t size)
{
    struct idset set = {0}, online = {0};
    struct plan_topology all, t;
    char text[512], cut[512];
    assert_int_equal(idset_parse(usable, &set, NULL), 0);
    bool is_plain = plain_machine_cores(fd, &set, &t);
    plain_of(is_plain, t, buf, size);
    assert_true(file_read_at(fd, "cpu/online", text, sizeof(text)) > 0);
    assert_int_equal(idset_parse(text, &online, NULL), 0);
    if (plain_machine_cores(fd, &online, &all)) {
        is_plain = plain_machine_cut(&all, &set, &t);
        plain_of(is_plain, t, cut, sizeof(cut));
        assert_string_equal(cut, buf);
        plan_topology_free(&all);
    }
    idset_free(&set);
    idset_free(&online);
}

/* plain_machine_cores() finds the same cores as hwloc, or refuses. */
static void plain_or_not(int fd, const struct topology *by_hwloc, const char *usable)
{
    char is[512], said[512] = "";
    struct plan_topology t;
    struct idset set = {0};
    plain(fd, usable, is, sizeof(is));
    assert_int_equal(idset_parse(usable, &set, NULL), 0);
    topology_cores(by_hwloc, &t);
    for (size_t i = 0; i < t.ncores; i++) {
        idset_intersect(&t.cores[i].threads, &set);
        char *text = idset_format(&t.cores[i].threads);
        if (*text)
            snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s", *said ? " " : "",
                     text);
        free(text);
    }
    plan_topology_free(&t);
    idset_free(&set);
    if (strcmp(is, "?") != 0)
        assert_string_equal(is, said);
}

static void check(const struct thread *all, size_t n, int nodes, const char *expected)
{
    struct host_cores h;
    char threads[16];
    struct error e;
    char is[512];
    int fd = fake(all, n, nodes);
    assert_true(fd >= 0);
    if (host_cores_read(fd, &h, &e) < 0)
        fail_msg("%s", e.text);
    describe(&h, is, sizeof(is));
    assert_string_equal(is, expected);
    setenv("HWLOC_FSROOT", root, 1);
    struct topology *t = topology_load(NULL, &e);
    unsetenv("HWLOC_FSROOT");
    if (!t)
        fail_msg("hwloc: %s", e.text);
    same_by_hwloc(&h, t);
    snprintf(threads, sizeof(threads), "0-%zu", n - 1);
    plain_or_not(fd, t, threads);
    plain_or_not(fd, t, threads + 2);
    plain_or_not(fd, t, n > 4 ? "1,3-4" : "1");
    topology_destroy(t);
    close(fd);
    host_cores_free(&h);
    remove_fake();
}

static void two_packages_of_one_node_each(void **state)
{
    static const struct thread all[] = {
        {0, 0, 0, 0, "0-1"}, {1, 0, 0, 1, "0-1"}, {2, 1, 1, 0, "2-3"}, {3, 1, 1, 1, "2-3"}};
    check(all, 4, 2, "0.0.0:0 0.0.0:1 1.1.1:2 1.1.1:3");
}

static void hardware_threads_are_one_core(void **state)
{
    static const struct thread all[] = {
        {0, 0, 0, 0, "0,4"}, {1, 0, 0, 1, "1,5"}, {2, 1, 1, 0, "2-3,6-7"}, {3, 1, 1, 1, "2-3,6-7"},
        {4, 0, 0, 0, "0,4"}, {5, 0, 0, 1, "1,5"}, {6, 1, 1, 0, "2-3,6-7"}, {7, 1, 1, 1, "2-3,6-7"}};
    check(all, 8, 2, "0.0.0:0,4 0.0.1:1,5 1.1.2:2,6 1.1.2:3,7");
}

/* As many firmwares number them; and the first package is that of thread 0, whatever it is called.
 */
static void packages_take_turns(void **state)
{
    static const struct thread all[] = {
        {0, 3, 1, 0, NULL}, {1, 1, 0, 0, NULL}, {2, 3, 1, 1, NULL}, {3, 1, 0, 1, NULL}};
    check(all, 4, 2, "0.1.0:0 0.1.0:2 1.0.1:1 1.0.1:3");
}

static void a_package_may_have_several_nodes(void **state)
{
    static const struct thread all[] = {
        {0, 0, 0, 0, "0-3"}, {1, 0, 0, 1, "0-3"}, {2, 0, 1, 2, "0-3"}, {3, 0, 1, 3, "0-3"},
        {4, 1, 2, 0, "4-7"}, {5, 1, 2, 1, "4-7"}, {6, 1, 3, 2, "4-7"}, {7, 1, 3, 3, "4-7"}};
    check(all, 8, 4, "0.0.0:0 0.0.0:1 0.1.1:2 0.1.1:3 1.2.2:4 1.2.2:5 1.3.3:6 1.3.3:7");
}

static void a_node_may_have_several_packages(void **state)
{
    static const struct thread all[] = {
        {0, 0, 0, 0, NULL}, {1, 0, 0, 1, NULL}, {2, 1, 0, 0, NULL}, {3, 1, 0, 1, NULL}};
    check(all, 4, 1, "0.0.0:0 0.0.0:1 1.0.1:2 1.0.1:3");
}

static void what_is_not_told_is_one_group(void **state)
{
    static const struct thread all[] = {{0, 0, -1, 0, NULL}, {1, 0, -1, 1, NULL}};
    check(all, 2, 0, "0.0.0:0 0.0.0:1");
}

/* plain_machine_cores() understands these machines, and refuses those. */
static void hwloc_is_asked_where_cores_are_not_in_order(void **state)
{
    static const struct thread one[] = {{0, 0, 0, 0, "0-1"}, {1, 0, 0, 1, "0-1"}},
                               smt[] = {{0, 0, 0, 0, "0-3"},
                                        {1, 0, 0, 1, "0-3"},
                                        {2, 0, 0, 0, "0-3"},
                                        {3, 0, 0, 1, "0-3"}},
                               packages[] = {{0, 0, 0, 0, NULL},
                                             {1, 1, 0, 0, NULL},
                                             {2, 0, 0, 1, NULL},
                                             {3, 1, 0, 1, NULL}},
                               nodes[] = {{0, 0, 0, 0, NULL},
                                          {1, 0, 1, 1, NULL},
                                          {2, 0, 0, 2, NULL},
                                          {3, 0, 1, 3, NULL}},
                               caches[] = {{0, 0, 0, 0, "0,2"},
                                           {1, 0, 0, 1, "1,3"},
                                           {2, 0, 0, 2, "0,2"},
                                           {3, 0, 0, 3, "1,3"}};
    static const struct {
        const struct thread *all;
        size_t n;
        int nodes;
        const char *kind, *usable, *cores; /* kind: the capacity of thread 1; that of 0 is 1024 */
    } cases[] = {
        {one, 2, 1, NULL, "0-1", "0 1"},      {one, 2, 0, "1024", "0-1", "0 1"},
        {one, 2, 1, "600", "0-1", "?"},       {one, 2, 1, "600", "1", "1"},
        {smt, 4, 1, NULL, "0-3", "0,2 1,3"},  {smt, 4, 1, NULL, "0-1,3", "0 1,3"},
        {smt, 4, 1, NULL, "1-2", "?"}, /* hwloc's order is that of all threads: 2, 1 */
        {packages, 4, 1, NULL, "0-3", "?"},   {packages, 4, 1, NULL, "0,2", "0 2"},
        {packages, 4, 1, NULL, "0-1", "0 1"}, {nodes, 4, 2, NULL, "0-3", "?"},
        {nodes, 4, 2, NULL, "1,3", "1 3"},    {caches, 4, 1, NULL, "0-3", "?"},
        {caches, 4, 1, NULL, "1-2", "1 2"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char is[64];
        int fd = fake(cases[i].all, cases[i].n, cases[i].nodes);
        if (cases[i].kind) {
            put("1024", "cpu/cpu0/cpu_capacity");
            put(cases[i].kind, "cpu/cpu1/cpu_capacity");
        }
        plain(fd, cases[i].usable, is, sizeof(is));
        close(fd);
        remove_fake();
        if (strcmp(is, cases[i].cores) != 0)
            fail_msg("case %zu: %s instead of %s", i, is, cases[i].cores);
    }
}

static void cores_of_this_machine_are_counted_as_hwloc_does(void **state)
{
    struct host_cores h;
    struct error e;
    int fd = open("/sys/devices/system", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(host_cores_read(fd, &h, &e), 0);
    struct topology *t = topology_load(NULL, &e);
    assert_non_null(t);
    assert_true(h.n > 0);
    same_by_hwloc(&h, t);
    struct idset allowed = {0};
    assert_int_equal(cpus_allowed(&allowed, &e), 0);
    char *text = idset_format(&allowed);
    plain_or_not(fd, t, text);
    free(text);
    idset_free(&allowed);
    close(fd);
    topology_destroy(t);
    host_cores_free(&h);
}

static void a_list_that_is_none_is_refused(void **state)
{
    static const char *const wrong[] = {"0", "0,", ",0", "0,0,0", "0,0;0,1", "x,0", "-1,0 "};
    struct host_core core[1] = {{.node = 0}};
    struct host_cores h = {.core = core, .n = 1};
    unsigned char set[1];
    struct error e;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (host_cores_find(&h, wrong[i], set, &e) >= 0)
            fail_msg("taken: %s", wrong[i]);
    assert_int_equal(host_cores_find(&h, "", set, &e), 0);
    assert_int_equal(host_cores_find(&h, "0,0:0,0", set, &e), 1);
    assert_int_equal(host_cores_find(&h, "7,7", set, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_packages_of_one_node_each),
        cmocka_unit_test(hardware_threads_are_one_core),
        cmocka_unit_test(packages_take_turns),
        cmocka_unit_test(a_package_may_have_several_nodes),
        cmocka_unit_test(a_node_may_have_several_packages),
        cmocka_unit_test(what_is_not_told_is_one_group),
        cmocka_unit_test(hwloc_is_asked_where_cores_are_not_in_order),
        cmocka_unit_test(cores_of_this_machine_are_counted_as_hwloc_does),
        cmocka_unit_test(a_list_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
