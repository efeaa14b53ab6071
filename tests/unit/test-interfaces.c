/* SPDX-License-Identifier: BSD-3-Clause */
/* test-interfaces.c - the addresses of this machine, whichever it has, and which of them are meant
 */
#include "common/machine/interfaces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int has_loopback(void)
{
    struct interface all[INTERFACES_MAX];
    int n = interfaces_list(all, INTERFACES_MAX, NULL);
    return n > 0 && interfaces_have(all, (size_t)n, "127.0.0.1");
}

static void loopback_is_told_only_where_there_is_nothing_else(void **state)
{
    struct interface all[INTERFACES_MAX], chosen[INTERFACES_MAX];
    int outside = 0, n = interfaces_list(all, INTERFACES_MAX, NULL);
    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        outside += !all[i].loopback;
        assert_int_not_equal(strncmp(all[i].address, "fe80:", 5), 0);
    }
    if (n == 0)
        skip();
    int k = interfaces_choose(NULL, chosen, INTERFACES_MAX, NULL);
    assert_int_equal(k, outside ? outside : n);
    for (int i = 0; outside && i < k; i++)
        assert_false(chosen[i].loopback);
}

static void names_addresses_and_networks_choose(void **state)
{
    static const char *const words[] = {"lo",        "127.0.0.1",    "127.0.0.0/8", "127.0.0.1/32",
                                        "0.0.0.0/0", "127.0.0.1,lo", "lo,"};
    struct interface got[INTERFACES_MAX];
    if (!has_loopback())
        skip();
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        int n = interfaces_choose(words[i], got, INTERFACES_MAX, NULL);
        assert_true(n > 0);
        assert_true(interfaces_have(got, (size_t)n, "127.0.0.1"));
    }
    assert_int_equal(interfaces_choose("127.0.0.1,127.0.0.0/8", got, INTERFACES_MAX, NULL), 1);
}

static void what_names_nothing_is_refused_with_what_there_is(void **state)
{
    static const char *const words[] = {"eth99",        "240.0.0.1",  "240.0.0.0/24",
                                        "127.0.0.0/33", "127.0.0.0/", "127.0.0.0/-1",
                                        "lo,eth99",     ",",          "/8"};
    struct interface got[INTERFACES_MAX];
    if (!has_loopback())
        skip();
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct error err = {.text = ""};
        assert_int_equal(interfaces_choose(words[i], got, INTERFACES_MAX, &err), -1);
        assert_non_null(strstr(err.text, "lo 127.0.0.1"));
    }
}

static void an_address_is_compared_as_a_number(void **state)
{
    static const struct interface all[] = {{"a", "2001:db8::1", 0}, {"b", "192.0.2.7", 0}};
    assert_true(interfaces_have(all, 2, "2001:0DB8:0:0::1"));
    assert_true(interfaces_have(all, 2, "192.0.2.7"));
    assert_false(interfaces_have(all, 2, "192.0.2.70"));
    assert_false(interfaces_have(all, 2, "b"));
    assert_false(interfaces_have(all, 2, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_is_told_only_where_there_is_nothing_else),
        cmocka_unit_test(names_addresses_and_networks_choose),
        cmocka_unit_test(what_names_nothing_is_refused_with_what_there_is),
        cmocka_unit_test(an_address_is_compared_as_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
