/* SPDX-License-Identifier: BSD-3-Clause */
/* Where cgroups are, from tables as different machines write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text/number.h"
#include "containment/cgroup/dir.h"
#include "containment/cgroup/mounts.h"
#include "containment/step/orphans.h"

static const char pure_v2[] =
    "21 26 0:20 / /proc rw,nosuid shared:12 - proc proc rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:4 master:2 - cgroup2 cgroup2 "
    "rw,nsdelegate,memory_recursiveprot\n"
    "99 26 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n";

static const char hybrid[] =
    "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "35 31 0:32 / /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n"
    "36 31 0:33 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n";

static char *directory(const char *mountinfo, int version, enum cgroup_controller c,
                       const char *cgroup, struct error *err)
{
    struct cgroup_mounts m;
    cgroup_mounts_parse(mountinfo, &m);
    char *dir = cgroup_directory(&m, version, c, cgroup, NULL, err);
    cgroup_mounts_free(&m);
    return dir;
}

static void expect(const char *mountinfo, int version, enum cgroup_controller c, const char *cgroup,
                   const char *wanted)
{
    struct error err;
    char *dir = directory(mountinfo, version, c, cgroup, &err);
    if (!dir)
        fail_msg("%s", err.text);
    assert_string_equal(dir, wanted);
    free(dir);
}

static void expect_none(const char *mountinfo, int version, enum cgroup_controller c,
                        const char *cgroup, const char *sentence)
{
    struct error err;
    char *dir = directory(mountinfo, version, c, cgroup, &err);
    if (dir)
        fail_msg("'%s' where none was expected", dir);
    assert_string_equal(err.text, sentence);
}

static void only_cgroup_mounts_are_kept(void **state)
{
    struct cgroup_mounts m;
    cgroup_mounts_parse(pure_v2, &m);
    assert_int_equal(m.n, 1);
    assert_int_equal(m.m[0].version, 2);
    assert_string_equal(m.m[0].root, "/");
    assert_string_equal(m.m[0].point, "/sys/fs/cgroup");
    assert_false(m.m[0].read_only);
    cgroup_mounts_free(&m);
    assert_int_equal(m.n, 0);
}

static void controllers_mounted_together_share_a_mount(void **state)
{
    struct cgroup_mounts m;
    cgroup_mounts_parse(hybrid, &m);
    assert_int_equal(m.n, 5);
    assert_int_equal(m.m[1].version, 1);
    assert_int_equal(m.m[1].controllers, CGROUP_BIT(CGROUP_CPU));
    assert_int_equal(m.m[2].controllers, CGROUP_BIT(CGROUP_MEMORY));
    assert_true(m.m[3].read_only);
    assert_int_equal(m.m[4].controllers, 0);
    cgroup_mounts_free(&m);
}

static void paths_with_blanks_are_unescaped(void **state)
{
    expect("1 2 0:1 / /mnt/a\\040b\\134c rw - cgroup2 none rw\n", 2, 0, "/x", "/mnt/a b\\c/x");
}

static void foreign_lines_are_passed_over(void **state)
{
    struct cgroup_mounts m;
    cgroup_mounts_parse("\nnonsense\n1 2 3\n1 2 3 4 5 6 - cgroup2\n"
                        "1 2 3 / /p rw shared:1 cgroup2 x rw\n",
                        &m);
    assert_int_equal(m.n, 0);
    assert_null(m.m);
}

static void a_cgroup_is_a_directory_below_its_mount(void **state)
{
    expect(pure_v2, 2, 0, "/user.slice/user-7.slice", "/sys/fs/cgroup/user.slice/user-7.slice");
    expect(pure_v2, 2, 0, "/", "/sys/fs/cgroup");
    expect(hybrid, 2, 0, "/a", "/sys/fs/cgroup/unified/a");
    expect(hybrid, 1, CGROUP_CPU, "/a/b", "/sys/fs/cgroup/cpu,cpuacct/a/b");
    expect(hybrid, 1, CGROUP_MEMORY, "/", "/sys/fs/cgroup/memory");
}

static void what_is_not_mounted_is_said(void **state)
{
    expect_none(pure_v2, 1, CGROUP_MEMORY, "/a", "memory is not mounted");
    expect_none(hybrid, 1, CGROUP_FREEZER, "/a", "freezer is not mounted");
    expect_none("", 2, 0, "/a", "cgroup v2 is not mounted");
}

/* A container whose mount shows only its own part of the host's hierarchy. */
static void a_mount_of_a_part_is_joined_below_its_root(void **state)
{
    static const char part[] = "5 4 0:9 /docker/77 /sys/fs/cgroup/memory rw - cgroup c rw,memory\n";
    expect(part, 1, CGROUP_MEMORY, "/docker/77", "/sys/fs/cgroup/memory");
    expect(part, 1, CGROUP_MEMORY, "/docker/77/x", "/sys/fs/cgroup/memory/x");
    expect_none(part, 1, CGROUP_MEMORY, "/docker/778",
                "no mount of memory shows cgroup '/docker/778'");
    expect_none(part, 1, CGROUP_MEMORY, "/", "no mount of memory shows cgroup '/'");
}

static void what_lies_outside_of_the_namespace_has_no_directory(void **state)
{
    expect_none(pure_v2, 2, 0, "/../other", "no mount of cgroup v2 shows cgroup '/../other'");
    expect_none("5 4 0:9 /.. /sys/fs/cgroup rw - cgroup2 c rw\n", 2, 0, "/",
                "no mount of cgroup v2 shows cgroup '/'");
    /* a name that only begins with two dots is a name */
    expect(pure_v2, 2, 0, "/..a", "/sys/fs/cgroup/..a");
}

static void the_last_mount_wins_and_a_writable_one_before_all(void **state)
{
    expect("1 0 0:9 / /old rw - cgroup2 c rw\n2 0 0:9 / /new rw - cgroup2 c rw\n", 2, 0, "/a",
           "/new/a");
    expect("1 0 0:9 / /old rw - cgroup2 c rw\n2 0 0:9 / /new ro - cgroup2 c rw\n", 2, 0, "/a",
           "/old/a");
}

static void membership_is_told_apart_by_hierarchy(void **state)
{
    struct cgroup_membership m;
    cgroup_membership_parse("9:name=systemd:/init.scope\n"
                            "5:freezer:/\n"
                            "4:memory:/a:b/c\n"
                            "2:cpu,cpuacct:/jobs/1\n"
                            "0::/u/leaf\n",
                            &m);
    assert_string_equal(m.v2, "/u/leaf");
    assert_string_equal(m.v1[CGROUP_MEMORY], "/a:b/c");
    assert_string_equal(m.v1[CGROUP_CPU], "/jobs/1");
    assert_string_equal(m.v1[CGROUP_FREEZER], "/");
    assert_null(m.v1[CGROUP_PIDS]);
    assert_null(m.v1[CGROUP_CPUSET]);
    cgroup_membership_free(&m);
    assert_null(m.v2);
}

static void membership_of_nothing_is_empty(void **state)
{
    struct cgroup_membership m;
    cgroup_membership_parse("\nx\n0:\n0::relative\n7:pids\n", &m);
    assert_null(m.v2);
    assert_null(m.v1[CGROUP_PIDS]);
    cgroup_membership_free(&m);
}

static void keys_and_words_are_matched_whole(void **state)
{
    uint64_t v;
    static const char events[] = "low 0\noom 2\noom_kill 17\nmax 3";
    assert_int_equal(flat_key_u64(events, "oom", &v), 0);
    assert_int_equal(v, 2);
    assert_int_equal(flat_key_u64(events, "oom_kill", &v), 0);
    assert_int_equal(v, 17);
    assert_int_equal(flat_key_u64(events, "max", &v), 0);
    assert_int_equal(v, 3);
    assert_int_equal(flat_key_u64(events, "kill", &v), -1);
    assert_int_equal(flat_key_u64("max max\n", "max", &v), -1);
    assert_int_equal(cgroup_controllers_in("cpuset cpu io memory\n", ~0U),
                     CGROUP_BIT(CGROUP_CPUSET) | CGROUP_BIT(CGROUP_CPU) |
                         CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_IO));
    assert_int_equal(cgroup_controllers_in("cpuset cpu io memory\n", CGROUP_LIMITS),
                     CGROUP_BIT(CGROUP_MEMORY));
    assert_int_equal(cgroup_controllers_in("cpuset io", CGROUP_BIT(CGROUP_CPU)), 0);
    assert_int_equal(cgroup_controllers_in("", ~0U), 0);
}

static void a_sweep_touches_nothing_but_steps_on_cgroup_file_systems(void **state)
{
    struct error err;
    const char *not_ours[] = {"/sys/fs/cgroup"};
    const char *relative[] = {"mprun.x"};
    char plain[] = "/tmp/mprun.XXXXXX";
    assert_non_null(mkdtemp(plain));
    char below[64];
    snprintf(below, sizeof(below), "%s/mprun.x", plain);
    const char *of_ended_job[] = {below}, *elsewhere[] = {plain},
               *missing[] = {"/sys/fs/cgroup/none/mprun.none"};
    assert_int_equal(cgroup_sweep(not_ours, 1, 0, &err), -1);
    assert_non_null(strstr(err.text, "not the name of a step's cgroup"));
    assert_int_equal(cgroup_sweep(relative, 1, 0, &err), -1);
    assert_int_equal(chmod(plain, 0), 0);
    assert_int_equal(seteuid(geteuid() ? geteuid() : 65534), 0);
    assert_int_equal(cgroup_sweep(of_ended_job, 1, 0, &err), 0);
    assert_int_equal(seteuid(getuid()), 0);
    assert_int_equal(chmod(plain, 0700), 0);
    assert_int_equal(cgroup_sweep(elsewhere, 1, 0, &err), -1);
    assert_non_null(strstr(err.text, "not on a cgroup file system"));
    assert_int_equal(rmdir(plain), 0); /* it is still there */
    assert_int_equal(cgroup_sweep(missing, 1, 0, &err), 0);
    assert_int_equal(cgroup_sweep(NULL, 0, 0, &err), 0);
}

static void every_controller_has_a_name(void **state)
{
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        assert_string_not_equal(cgroup_controller_text(c), "unknown");
    assert_string_equal(cgroup_controller_text(CGROUP_CONTROLLER_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_cgroup_mounts_are_kept),
        cmocka_unit_test(controllers_mounted_together_share_a_mount),
        cmocka_unit_test(paths_with_blanks_are_unescaped),
        cmocka_unit_test(foreign_lines_are_passed_over),
        cmocka_unit_test(a_cgroup_is_a_directory_below_its_mount),
        cmocka_unit_test(what_is_not_mounted_is_said),
        cmocka_unit_test(a_mount_of_a_part_is_joined_below_its_root),
        cmocka_unit_test(what_lies_outside_of_the_namespace_has_no_directory),
        cmocka_unit_test(the_last_mount_wins_and_a_writable_one_before_all),
        cmocka_unit_test(membership_is_told_apart_by_hierarchy),
        cmocka_unit_test(membership_of_nothing_is_empty),
        cmocka_unit_test(keys_and_words_are_matched_whole),
        cmocka_unit_test(a_sweep_touches_nothing_but_steps_on_cgroup_file_systems),
        cmocka_unit_test(every_controller_has_a_name),
    };
    return cmocka_run_group_tests_name("cgroup-parse", tests, NULL, NULL);
}
