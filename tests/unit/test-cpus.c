/* SPDX-License-Identifier: BSD-3-Clause */
/* test-cpus.c - hardware threads and cores, on this machine and on others that are made up */
#include "common/machine/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char base[64];

/* A directory that looks like /sys/devices/system/cpu of a machine with these cores. */
static int fake_sysfs(const char *cores)
{
    char *copy = strdup(cores), *save = NULL;
    strcpy(base, "/tmp/mprun-test-cpus-XXXXXX");
    assert_non_null(mkdtemp(base));
    for (char *core = strtok_r(copy, ";", &save); core; core = strtok_r(NULL, ";", &save)) {
        struct idset threads = {0};
        assert_int_equal(idset_parse(core, &threads, NULL), 0);
        for (int t = idset_next(&threads, 0); t >= 0; t = idset_next(&threads, (unsigned)t + 1)) {
            char path[160];
            snprintf(path, sizeof(path), "%s/cpu%d", base, t);
            assert_int_equal(mkdir(path, 0700), 0);
            strcat(path, "/topology");
            assert_int_equal(mkdir(path, 0700), 0);
            strcat(path, "/thread_siblings_list");
            FILE *f = fopen(path, "w");
            assert_non_null(f);
            fprintf(f, "%s\n", core);
            fclose(f);
        }
        idset_free(&threads);
    }
    free(copy);
    return open(base, O_RDONLY | O_DIRECTORY);
}

static void remove_sysfs(int fd)
{
    char command[128];
    close(fd);
    snprintf(command, sizeof(command), "rm -rf %s", base);
    assert_int_equal(system(command), 0);
}

static void format_sets(const struct idset *sets, size_t n, char *buf, size_t size)
{
    buf[0] = 0;
    for (size_t i = 0; i < n; i++) {
        char *text = idset_format(&sets[i]);
        snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", i ? ";" : "", text);
        free(text);
    }
}

static void threads_are_grouped_into_cores_and_cut_to_what_is_asked_for(void **state)
{
    static const struct {
        const char *machine, *threads, *cores;
    } cases[] = {
        {"0,4;1,5;2,6;3,7", "0-7", "0,4;1,5;2,6;3,7"},
        {"0,4;1,5;2,6;3,7", "5-7", "5;6;7"},
        {"0,4;1,5;2,6;3,7", "0,4,7", "0,4;7"},
        {"0-1;2-3", "0-3", "0-1;2-3"},
        {"0-1;2-3", "3", "3"},
        {"0-1;2-3", "", ""},
        {"", "0-2", "0;1;2"}, /* a kernel that tells nothing */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct idset threads = {0}, *cores;
        size_t n;
        char text[256];
        int fd = fake_sysfs(cases[i].machine);
        assert_int_equal(idset_parse(cases[i].threads, &threads, NULL), 0);
        cpus_group_cores(fd, &threads, &cores, &n);
        format_sets(cores, n, text, sizeof(text));
        assert_string_equal(text, cases[i].cores);
        cpus_free_cores(cores, n);
        idset_free(&threads);
        remove_sysfs(fd);
    }
}

static void cores_are_dealt_evenly_and_shared_only_when_they_are_few(void **state)
{
    static const struct {
        const char *cores;
        unsigned nparts;
        const char *parts;
    } cases[] = {
        {"0,4;1,5;2,6;3,7", 1, "0-7"},
        {"0,4;1,5;2,6;3,7", 2, "0-1,4-5;2-3,6-7"},
        {"0,4;1,5;2,6;3,7", 3, "0,4;1,5;2-3,6-7"},
        {"0,4;1,5;2,6;3,7", 4, "0,4;1,5;2,6;3,7"},
        {"0;1", 4, "0;0;1;1"},
        {"0;1", 3, "0;0;1"},
        {"3", 3, "3;3;3"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct idset cores[8] = {0}, parts[8] = {0};
        size_t n = 0;
        char text[256], *copy = strdup(cases[i].cores), *save = NULL;
        for (char *c = strtok_r(copy, ";", &save); c; c = strtok_r(NULL, ";", &save))
            assert_int_equal(idset_parse(c, &cores[n++], NULL), 0);
        cpus_deal_cores(cores, n, cases[i].nparts, parts);
        format_sets(parts, cases[i].nparts, text, sizeof(text));
        assert_string_equal(text, cases[i].parts);
        for (size_t k = 0; k < 8; k++) {
            idset_free(&cores[k]);
            idset_free(&parts[k]);
        }
        free(copy);
    }
}

/* In a child bound to one thread: what is allowed there? */
static int allowed_when_bound(int cpu)
{
    struct idset allowed = {0};
    struct error err;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        return 1;
    if (cpus_allowed(&allowed, &err) < 0)
        return 2;
    int right = idset_count(&allowed) == 1 && idset_has(&allowed, (unsigned)cpu) &&
                cpus_count_cores(&allowed) == 1;
    idset_free(&allowed);
    return right ? 0 : 3;
}

static void what_is_allowed_follows_the_affinity(void **state)
{
    struct idset allowed = {0}, parts[2] = {0};
    struct error err;
    int status;
    assert_int_equal(cpus_allowed(&allowed, &err), 0);
    int cpu = idset_next(&allowed, 0);
    assert_true(cpu >= 0);
    assert_in_range(cpus_count_cores(&allowed), 1, idset_count(&allowed));
    cpus_split(&allowed, 2, parts);
    assert_true(idset_count(&parts[0]) > 0 && idset_count(&parts[1]) > 0);
    idset_free(&parts[0]);
    idset_free(&parts[1]);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(allowed_when_bound(cpu));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    idset_free(&allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_grouped_into_cores_and_cut_to_what_is_asked_for),
        cmocka_unit_test(cores_are_dealt_evenly_and_shared_only_when_they_are_few),
        cmocka_unit_test(what_is_allowed_follows_the_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
