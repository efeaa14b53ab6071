/* SPDX-License-Identifier: BSD-3-Clause */
/* test-rank-gpus-deal.c - the GPUs of a host, by their drivers, and how they are dealt to ranks */
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

#include "plan/gpus.h"
#include "starter/binding/host-gpus.h"

/* ---- dealing --------------------------------------------------------------------------------- */

enum { MOST = 8 };

struct deal_case {
    const char *near[MOST]; /* of the GPUs; "": not known */
    struct {
        uint32_t gpus, sharers;
        const char *cpus; /* NULL: any */
    } rank[MOST];
    const char *has[MOST]; /* the ranks' GPUs */
    int rc;
    unsigned needed;
};

static const struct deal_case deals[] = {
    /* in their order where nothing is known of cores */
    {{"", "", "", ""}, {{1, 0, NULL}, {2, 0, NULL}}, {"0", "1-2"}, 0, 3},
    {{"", ""}, {{1, 0, NULL}, {0, 0, NULL}, {1, 0, NULL}}, {"0", "", "1"}, 0, 2},
    /* near ones: nobody takes what is near another rank while it has some itself */
    {{"0-3", "0-3", "4-7", "4-7"}, {{2, 0, "4"}, {2, 0, "0"}}, {"2-3", "0-1"}, 0, 4},
    {{"0-3", "4-7", "4-7"}, {{2, 0, "0"}, {1, 0, "5"}}, {"0,2", "1"}, 0, 3},
    {{"4-7", "4-7"}, {{1, 0, "0"}, {1, 0, "4"}}, {"1", "0"}, 0, 2},
    {{"0-3", ""}, {{1, 0, "4"}, {1, 0, "0"}}, {"1", "0"}, 0, 2},
    /* shared ones: the least used first, no more ranks on one than are to share it */
    {{"", ""}, {{0, 2, NULL}, {0, 2, NULL}, {0, 2, NULL}}, {"0", "1", "0"}, 0, 2},
    {{"0-3", "4-7"}, {{0, 2, "0"}, {0, 2, "1"}, {0, 2, "2"}}, {"0", "0", "1"}, 0, 2},
    {{""}, {{0, 3, NULL}, {0, 3, NULL}, {0, 3, NULL}}, {"0", "0", "0"}, 0, 1},
    {{"", ""}, {{0, 2, NULL}, {1, 0, NULL}, {0, 2, NULL}}, {"0", "1", "0"}, 0, 2},
    /* too few */
    {{""}, {{1, 0, NULL}, {1, 0, NULL}}, {"0", ""}, 1, 2},
    {{""}, {{0, 2, NULL}, {0, 2, NULL}, {0, 2, NULL}}, {"0", "0", ""}, 1, 2},
    {{NULL}, {{1, 0, NULL}}, {""}, 1, 1},
    {{"", ""}, {{0, 2, NULL}, {2, 0, NULL}}, {"0", "1"}, 1, 3},
};

static void deal(const struct deal_case *c)
{
    struct idset near[MOST] = {0}, cpus[MOST] = {0}, ret[MOST] = {0};
    struct plan_gpu gpu[MOST] = {0};
    struct plan_gpu_wish wish[MOST] = {0};
    size_t n = 0;
    uint32_t nranks = 0;
    struct error e;
    for (; n < MOST && c->near[n]; n++) {
        assert_int_equal(idset_parse(c->near[n], &near[n], &e), 0);
        gpu[n].near = &near[n];
    }
    for (; nranks < MOST && c->has[nranks]; nranks++) {
        wish[nranks].gpus = c->rank[nranks].gpus;
        wish[nranks].sharers = c->rank[nranks].sharers;
        if (!c->rank[nranks].cpus)
            continue;
        assert_int_equal(idset_parse(c->rank[nranks].cpus, &cpus[nranks], &e), 0);
        wish[nranks].cpus = &cpus[nranks];
    }
    assert_int_equal(plan_gpus_needed(wish, nranks), c->needed);
    assert_int_equal(plan_gpus_deal(gpu, n, wish, nranks, ret), c->rc);
    for (uint32_t r = 0; r < nranks; r++) {
        char *is = idset_format(&ret[r]);
        if (strcmp(is, c->has[r]) != 0)
            fail_msg("case %d: rank %u has '%s', not '%s'", (int)(c - deals), (unsigned)r, is,
                     c->has[r]);
        free(is);
        idset_free(&ret[r]);
        idset_free(&cpus[r]);
    }
    for (size_t i = 0; i < n; i++) {
        assert_true(gpu[i].used <= PLAN_GPU_WHOLE);
        idset_free(&near[i]);
    }
}

static void ranks_have_gpus_near_their_cores_and_alone_unless_they_share(void **state)
{
    for (size_t i = 0; i < sizeof(deals) / sizeof(deals[0]); i++)
        deal(&deals[i]);
}

/* ---- which there are ------------------------------------------------------------------------- */

static char root[64];
static const char *numbers; /* that the manager has told */

static void parents(char *full)
{
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
}

static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    parents(full);
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_device(const char *address, const char *driver, const char *near)
{
    char path[128], full[256], to[64];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/local_cpulist", address);
    put(path, near);
    snprintf(full, sizeof(full), "%s/sys/bus/pci/devices/%s/driver", root, address);
    snprintf(to, sizeof(to), "../../../../bus/pci/drivers/%s", driver);
    assert_int_equal(symlink(to, full), 0);
}

static int begin(void)
{
    strcpy(root, "/tmp/mprun-test-gpus-XXXXXX");
    assert_non_null(mkdtemp(root));
    return open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void end(int fd)
{
    char command[128];
    close(fd);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* "ID@NEAR ID@NEAR" of the list, or of the machine's. */
static void expect(int fd, const char *list, const char *want, unsigned kinds)
{
    char is[512] = "";
    struct host_gpus g;
    host_gpus_read(fd, list, numbers, &g);
    for (size_t i = 0; i < g.n; i++) {
        char *near = idset_format(&g.gpu[i].near);
        snprintf(is + strlen(is), sizeof(is) - strlen(is), "%s%s@%s", i ? " " : "", g.gpu[i].id,
                 near);
        free(near);
    }
    assert_string_equal(is, want);
    assert_int_equal(g.kinds, kinds);
    host_gpus_free(&g);
}

static void the_cards_of_a_machine_are_known_by_number_and_uuid(void **state)
{
    int fd = begin();
    put_device("0000:00:02.0", "i915", "0-15\n"); /* the processor's own */
    put_device("0000:00:1f.6", "e1000e", "0-15\n");
    put_device("0000:af:00.0", "nvidia", "8-15\n");
    put_device("0000:3b:00.0", "nvidia", "0-7\n");
    put("proc/driver/nvidia/gpus/0000:3b:00.0/information",
        "Model: \t\t Tesla\nGPU UUID: \t GPU-8f2b1c6a-1\nDevice Minor: \t 1\n");
    put("proc/driver/nvidia/gpus/0000:af:00.0/information",
        "GPU UUID: \t GPU-55d01e7c-2\nDevice Minor: \t 0");
    expect(fd, NULL, "1@0-7 0@8-15", 1u << GPU_NVIDIA);
    expect(fd, "0, 1,7", "0@8-15 1@0-7 7@", 1u << GPU_NVIDIA);
    expect(fd, "GPU-55d01e7c-2,GPU-8f2b,MIG-3", "GPU-55d01e7c-2@8-15 GPU-8f2b@0-7 MIG-3@",
           1u << GPU_NVIDIA);
    expect(fd, "1,-1,0", "1@0-7", 1u << GPU_NVIDIA);
    expect(fd, "", "", 1u << GPU_NVIDIA);
    numbers = "1"; /* a cgroup shows only this one */
    expect(fd, "0", "0@0-7", 1u << GPU_NVIDIA);
    expect(fd, "GPU-55d0", "GPU-55d0@8-15", 1u << GPU_NVIDIA);
    expect(fd, "0,1", "0@8-15 1@0-7", 1u << GPU_NVIDIA); /* they are of other ones */
    numbers = NULL;
    end(fd);
}

static void the_kind_of_the_cards_says_which_variable_names_them(void **state)
{
    int fd = begin();
    expect(fd, NULL, "", (1u << GPU_KINDS) - 1);
    expect(fd, "0,1", "0@ 1@", (1u << GPU_KINDS) - 1);
    put_device("0000:00:02.0", "xe", "0-3\n");
    expect(fd, NULL, "0@0-3", 1u << GPU_INTEL);
    put_device("0000:c1:00.0", "amdgpu", "4-7\n");
    put("sys/bus/pci/devices/0000:c1:00.0/unique_id", "deadbeefdeadbeef\n");
    expect(fd, NULL, "0@4-7", 1u << GPU_AMD);
    expect(fd, "GPU-deadbeefdeadbeef", "GPU-deadbeefdeadbeef@4-7", 1u << GPU_AMD);
    end(fd);
}

/* "MAJOR:MINOR=INDEX ..." */
static void expect_files(int fd, const char *list, const char *want)
{
    char is[256] = "";
    struct host_gpus g;
    host_gpus_read(fd, list, numbers, &g);
    for (size_t i = 0; i < g.nfiles; i++)
        snprintf(is + strlen(is), sizeof(is) - strlen(is), "%s%u:%u=%d", i ? " " : "",
                 (unsigned)g.file[i].major, (unsigned)g.file[i].minor, g.file[i].gpu);
    assert_string_equal(is, want);
    host_gpus_free(&g);
}

static void drivers_tell_which_files_are_whose(void **state)
{
    int fd = begin();
    put_device("0000:3b:00.0", "nvidia", "0-7\n");
    put_device("0000:af:00.0", "nvidia", "0-7\n");
    expect_files(fd, NULL, ""); /* no minor number is said */
    put("proc/driver/nvidia/gpus/0000:3b:00.0/information", "Device Minor: \t 1\n");
    put("proc/driver/nvidia/gpus/0000:af:00.0/information", "Device Minor: \t 0");
    put("sys/bus/pci/devices/0000:af:00.0/drm/renderD129/dev", "226:129\n");
    expect_files(fd, NULL, "195:1=0 195:0=1 226:129=1");
    expect_files(fd, "0", "195:1=-1 195:0=0 226:129=0");
    numbers = "1";
    expect_files(fd, "0", "195:1=0 195:0=-1 226:129=-1");
    numbers = NULL;
    end(fd);
    fd = begin();
    put_device("0000:c1:00.0", "amdgpu", "4-7\n");
    put("sys/bus/pci/devices/0000:c1:00.0/drm/renderD128/dev", "226:128\n");
    put("sys/bus/pci/devices/0000:c1:00.0/drm/version", "1\n");
    expect_files(fd, NULL, "226:128=0");
    end(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_have_gpus_near_their_cores_and_alone_unless_they_share),
        cmocka_unit_test(the_cards_of_a_machine_are_known_by_number_and_uuid),
        cmocka_unit_test(the_kind_of_the_cards_says_which_variable_names_them),
        cmocka_unit_test(drivers_tell_which_files_are_whose),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
