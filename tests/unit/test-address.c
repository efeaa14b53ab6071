/* SPDX-License-Identifier: BSD-3-Clause */
/* test-address.c - a listener's address leads to it, however its directory is called */
#include "wire/transport/address.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/listen-tcp.h"
#include "wire/transport/dial.h"

static char top[200];

static int make_top(void **state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(top, sizeof(top), "%.100s/mprun-test-address.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", top);
    return system(command);
}

/* A connection to that address arrives at that listener. */
static void leads_there(int listener, const char *address)
{
    struct error e;
    int fd = dial_wait(address, 5, &e);
    if (fd < 0)
        fail_msg("%s", e.text);
    int peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    char c = 0;
    assert_int_equal(read(peer, &c, 1), 1);
    assert_int_equal(c, 'x');
    close(peer);
    close(fd);
}

static void works_below(const char *name)
{
    char dir[600], path[700], address[ADDRESS_TEXT];
    struct error e;
    snprintf(dir, sizeof(dir), "%s/%s", top, name);
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(path, sizeof(path), "%s/link", dir);
    int fd = address_listen_unix(path, address, &e);
    if (fd < 0)
        fail_msg("%s", e.text);
    assert_null(strpbrk(address, " \t\n")); /* addresses are separated by blanks */
    leads_there(fd, address);
    close(fd);
}

static void a_unix_socket_is_reached(void **state)
{
    works_below("plain");
}

static void a_path_longer_than_a_socket_name_is_reached(void **state)
{
    char name[240];
    memset(name, 'd', sizeof(name));
    name[sizeof(name) - 1] = 0;
    works_below(name);
}

static void a_directory_may_have_any_name(void **state)
{
    works_below("with blank");
    works_below("100% \t\n\x7f");
    works_below("%20");
    works_below("caf\xc3\xa9 \xff");
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char path[3000], address[ADDRESS_TEXT];
    struct error e;
    memset(path, ' ', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = 0;
    assert_int_equal(address_listen_unix(path, address, &e), -1);
    assert_non_null(strstr(e.text, "too long"));
    path[400] = 0; /* fits as a path, not when its blanks are written out */
    assert_int_equal(address_listen_unix(path, address, &e), -1);
}

static void tcp_is_reached(void **state)
{
    char address[ADDRESS_TEXT];
    struct error e;
    int fd = listen_tcp("127.0.0.1", address, &e);
    assert_true(fd >= 0);
    assert_memory_equal(address, "tcp:127.0.0.1:", 14);
    leads_there(fd, address);
    close(fd);
}

static void tcp_over_ipv6_is_reached(void **state)
{
    char address[ADDRESS_TEXT];
    struct error e;
    int fd = listen_tcp("::1", address, &e);
    if (fd < 0)
        skip(); /* no IPv6 here */
    assert_memory_equal(address, "tcp:[::1]:", 10);
    leads_there(fd, address);
    close(fd);
}

static void the_one_that_answers_is_taken(void **state)
{
    char good[ADDRESS_TEXT], all[4 * ADDRESS_TEXT], gone[ADDRESS_TEXT];
    struct error e;
    int dead = listen_tcp("127.0.0.1", gone, &e);
    close(dead); /* nobody is there any more */
    int fd = listen_tcp("127.0.0.1", good, &e);
    snprintf(all, sizeof(all), "home:/nowhere  %s unix:/is/not/there rubbish %s ", gone, good);
    leads_there(fd, all);
    close(fd);
}

static void each_failure_is_told(void **state)
{
    struct error e;
    assert_int_equal(dial_wait("unix:/is/not/there tcp:nonsense what:ever", 5, &e), -1);
    assert_non_null(strstr(e.text, "/is/not/there"));
    assert_non_null(strstr(e.text, "No such file"));
    assert_non_null(strstr(e.text, "tcp:nonsense"));
    assert_non_null(strstr(e.text, "what:ever"));
    assert_int_equal(dial_wait("", 5, &e), -1);
    assert_non_null(strstr(e.text, "no address"));
    assert_int_equal(dial_wait("home:/tmp", 5, &e), -1);
}

static void strange_addresses_are_refused(void **state)
{
    static const char *const bad[] = {
        "tcp:127.0.0.1", "tcp:127.0.0.1:0", "tcp:127.0.0.1:65536",
        "tcp::80",       "tcp:[::1:80",     "tcp:host:80",
        "unix:/tmp/%",   "unix:/tmp/%2",    "unix:/tmp/%00/x",
        "unix:/tmp/%zz", "tcp:[]:5",        "unix:",
    };
    struct error e;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(dial_wait(bad[i], 1, &e), -1);
}

static void the_launchers_home_is_found(void **state)
{
    char home[100], text[ADDRESS_TEXT], all[2 * ADDRESS_TEXT];
    assert_int_equal(address_of_path("home", "/a b/%c", text), 0);
    snprintf(all, sizeof(all), "unix:/x %s tcp:1.2.3.4:5", text);
    assert_int_equal(address_home(all, home, sizeof(home)), 1);
    assert_string_equal(home, "/a b/%c");
    assert_int_equal(address_home(all, home, 5), 0);
    assert_int_equal(address_home("unix:/x", home, sizeof(home)), 0);
    assert_int_equal(address_home("", home, sizeof(home)), 0);
}

static void a_port_is_of_the_range_and_a_full_one_is_said(void **state)
{
    char address[ADDRESS_TEXT];
    unsigned first = 0, port = 0;
    struct error e;
    int fd = address_listen("127.0.0.1", NULL, &first, &e);
    assert_true(fd >= 0);
    struct port_range one = {first, first}, two = {first, first < 65535 ? first + 1 : first};
    assert_int_equal(address_listen("127.0.0.1", &one, &port, &e), -1);
    assert_non_null(strstr(e.text, "every port from"));
    int next = address_listen("127.0.0.1", &two, &port, &e); /* if nobody else has it */
    if (next >= 0) {
        assert_int_equal(port, first + 1);
        address_of_ip("127.0.0.1", port, address);
        leads_there(next, address);
        close(next);
    }
    close(fd);
    assert_int_equal(address_listen("localhost", NULL, &port, &e), -1);
    assert_non_null(strstr(e.text, "not a numeric address"));
}

static void a_listener_on_all_addresses_is_reached_by_both_families(void **state)
{
    static const char *const ips[] = {"127.0.0.1", "::1"};
    char address[ADDRESS_TEXT];
    unsigned port, own;
    struct error e;
    int fd = address_listen(NULL, NULL, &port, &e);
    if (fd < 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < 2; i++) {
        int probe = address_listen(ips[i], NULL, &own, &e);
        if (probe < 0) /* this machine has no such address */
            continue;
        close(probe);
        address_of_ip(ips[i], port, address);
        leads_there(fd, address);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unix_socket_is_reached),
        cmocka_unit_test(a_path_longer_than_a_socket_name_is_reached),
        cmocka_unit_test(a_directory_may_have_any_name),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
        cmocka_unit_test(tcp_is_reached),
        cmocka_unit_test(tcp_over_ipv6_is_reached),
        cmocka_unit_test(the_one_that_answers_is_taken),
        cmocka_unit_test(each_failure_is_told),
        cmocka_unit_test(strange_addresses_are_refused),
        cmocka_unit_test(the_launchers_home_is_found),
        cmocka_unit_test(a_port_is_of_the_range_and_a_full_one_is_said),
        cmocka_unit_test(a_listener_on_all_addresses_is_reached_by_both_families),
    };
    return cmocka_run_group_tests(tests, make_top, remove_top);
}
