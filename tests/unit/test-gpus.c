/* SPDX-License-Identifier: BSD-3-Clause */
/* test-gpus.c - which GPUs a host has, and which of them a job gets */
#include "node-daemon/front/host/gpus.h"

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

static char root[64];

static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Four devices in the order of readdir(); the driver tells of three on two nodes, one of them
 * alone. */
static int fake(void)
{
    strcpy(root, "/tmp/mprun-test-gpus-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("dev/nvidia10", "");
    put("dev/nvidia0", "");
    put("dev/nvidia1", "");
    put("dev/nvidiactl", "");
    put("dev/nvidia-uvm", "");
    put("proc/driver/nvidia/gpus/0000:3b:00.0/information",
        "Model: \t\t Tesla\nDevice Minor: \t 0\nGPU Excluded:\t No\n");
    put("proc/driver/nvidia/gpus/0000:af:00.0/information", "Device Minor: \t 1\n");
    put("proc/driver/nvidia/gpus/0000:d8:00.0/information", "Device Minor: \t 2");
    put("sys/bus/pci/devices/0000:3b:00.0/numa_node", "0\n");
    put("sys/bus/pci/devices/0000:af:00.0/numa_node", "1\n");
    put("sys/bus/pci/devices/0000:d8:00.0/numa_node", "1\n");
    return open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_fake(int fd)
{
    char command[128];
    close(fd);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

static void describe(const struct gpus *g, char *buf, size_t n)
{
    buf[0] = 0;
    for (size_t i = 0; i < g->n; i++) {
        size_t len = strlen(buf);
        snprintf(buf + len, n - len, "%s%s@%d", i ? " " : "", g->gpu[i].id, g->gpu[i].node);
    }
}

static void devices_are_found_with_their_nodes(void **state)
{
    const char *const automatic[] = {"auto", NULL};
    const char *const some[] = {"1", "GPU-8f2b", NULL};
    const char *const none[] = {NULL};
    struct gpus g;
    char is[256];
    int fd = fake();
    gpus_read(fd, automatic, &g);
    describe(&g, is, sizeof(is));
    assert_string_equal(is, "0@0 1@1 2@1 10@-1");
    gpus_free(&g);
    gpus_read(fd, some, &g);
    describe(&g, is, sizeof(is));
    assert_string_equal(is, "1@1 GPU-8f2b@-1");
    gpus_free(&g);
    gpus_read(fd, none, &g);
    assert_int_equal(g.n, 0);
    gpus_free(&g);
    remove_fake(fd);
}

static const struct {
    const char *taken, *nodes;
    size_t n, got;
    const char *has, *chosen;
} rows[] = {
    {"", "", 2, 2, "", "0,1"},      {"", "1", 2, 2, "", "1,2"},    {"", "1", 3, 3, "", "1,2,0"},
    {"1", "1", 1, 1, "", "2"},      {"1,2", "1", 1, 1, "", "0"},   {"10", "", 4, 3, "", "0,1,2"},
    {"0,1,2,10", "", 1, 0, "", ""}, {"1", "0", 1, 1, "0", "0,2"},  /* it has one already */
    {"", "0", 0, 0, "", ""},        {"100,01", "", 1, 1, "", "0"}, /* others */
};

static void near_ones_come_first_and_none_twice(void **state)
{
    struct gpu gpu[] = {{"0", 0, NULL}, {"1", 1, NULL}, {"2", 1, NULL}, {"10", -1, NULL}};
    struct gpus g = {.gpu = gpu, .n = 4};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const taken[] = {"", rows[i].taken, NULL};
        struct idset nodes = {0};
        char list[64];
        strcpy(list, rows[i].has);
        assert_int_equal(idset_parse(rows[i].nodes, &nodes, NULL), 0);
        assert_int_equal(
            gpus_choose(&g, taken, &nodes, &(struct idset){0}, rows[i].n, list, sizeof(list)),
            rows[i].got);
        assert_string_equal(list, rows[i].chosen);
        idset_free(&nodes);
    }
}

static void cores_that_the_table_gives_count_instead_of_the_node(void **state)
{
    struct idset low = {0}, high = {0}, nodes = {0}, threads = {0};
    struct gpu gpu[] = {{"A", 1, &low}, {"B", -1, &high}, {"C", 1, NULL}};
    struct gpus g = {.gpu = gpu, .n = 3};
    char list[64] = "";
    assert_int_equal(idset_parse("0-3", &low, NULL) + idset_parse("4-7", &high, NULL) +
                         idset_parse("1", &nodes, NULL) + idset_parse("5", &threads, NULL),
                     0);
    assert_int_equal(gpus_choose(&g, NULL, &nodes, &threads, 3, list, sizeof(list)), 3);
    assert_string_equal(list, "B,C,A");
    idset_free(&low);
    idset_free(&high);
    idset_free(&nodes);
    idset_free(&threads);
}

static void a_list_that_is_full_takes_no_part_of_an_id(void **state)
{
    struct gpu gpu[] = {{"0", -1, NULL}, {"GPU-12345", -1, NULL}, {"2", -1, NULL}};
    struct gpus g = {.gpu = gpu, .n = 3};
    struct idset nodes = {0};
    char list[4] = "";
    assert_int_equal(gpus_choose(&g, NULL, &nodes, &(struct idset){0}, 3, list, sizeof(list)), 2);
    assert_string_equal(list, "0,2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_found_with_their_nodes),
        cmocka_unit_test(near_ones_come_first_and_none_twice),
        cmocka_unit_test(cores_that_the_table_gives_count_instead_of_the_node),
        cmocka_unit_test(a_list_that_is_full_takes_no_part_of_an_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
