/* SPDX-License-Identifier: BSD-3-Clause */
/* test-tree.c - every host has one way from the launcher, and nobody more children than the fan-out
 */
#include "wire/tree/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_example_of_the_header(void **state)
{
    static const uint32_t above[] = {TREE_LAUNCHER, TREE_LAUNCHER, 0, 0, 1, 1, 2, 2};
    for (uint32_t h = 0; h < 8; h++)
        assert_int_equal(tree_parent(h, 2), above[h]);
    assert_int_equal(tree_first_child(1, 2, 8), 4);
    assert_int_equal(tree_children(1, 2, 8), 2);
    assert_int_equal(tree_children(2, 2, 8), 2);
    assert_int_equal(tree_children(2, 2, 7), 1);
    assert_int_equal(tree_children(3, 2, 8), 0);
    assert_int_equal(tree_depth(2, 8), 3);
}

static void a_fanout_of_zero_is_a_star(void **state)
{
    for (uint32_t h = 0; h < 5; h++) {
        assert_int_equal(tree_parent(h, 0), TREE_LAUNCHER);
        assert_int_equal(tree_children(h, 0, 5), 0);
        assert_int_equal(tree_way(TREE_LAUNCHER, h, 0), h);
        assert_int_equal(tree_way(h, 1, 0), TREE_LAUNCHER);
    }
    assert_int_equal(tree_depth(0, 5), 1);
    assert_int_equal(tree_depth(0, 0), 0);
}

static void children_and_parents_agree(void **state)
{
    static const uint32_t fanouts[] = {1, 2, 3, 32}, sizes[] = {1, 2, 31, 32, 33, 100, 1057};
    for (size_t f = 0; f < 4; f++)
        for (size_t s = 0; s < 7; s++) {
            uint32_t reached = 0, n = sizes[s], fanout = fanouts[f];
            for (uint32_t h = 0; h < n; h++) {
                uint32_t first = tree_first_child(h, fanout, n);
                uint32_t count = tree_children(h, fanout, n);
                assert_true(count <= fanout && first + count <= n);
                for (uint32_t c = first; c < first + count; c++)
                    assert_int_equal(tree_parent(c, fanout), h);
                reached += count;
            }
            assert_int_equal(reached, n < fanout ? 0 : n - fanout);
        }
}

static void ways_lead_down_and_nowhere_else(void **state)
{
    enum { N = 200 };
    for (uint32_t fanout = 1; fanout < 5; fanout++)
        for (uint32_t to = 0; to < N; to++) {
            unsigned steps = 0;
            uint32_t at = TREE_LAUNCHER;
            while (at != to) {
                at = tree_way(at, to, fanout);
                assert_int_not_equal(at, TREE_LAUNCHER);
                steps++;
            }
            assert_true(steps <= tree_depth(fanout, N));
            assert_int_equal(tree_way(to, to, fanout), TREE_LAUNCHER);
        }
    assert_int_equal(tree_way(0, 1, 2), TREE_LAUNCHER);
    assert_int_equal(tree_way(0, 6, 2), 2);
}

static void numbers_do_not_wrap(void **state)
{
    assert_int_equal(tree_first_child(0xfffffff0u, 4096, 10), 10);
    assert_int_equal(tree_children(0xfffffff0u, 4096, 10), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_header),
        cmocka_unit_test(a_fanout_of_zero_is_a_star),
        cmocka_unit_test(children_and_parents_agree),
        cmocka_unit_test(ways_lead_down_and_nowhere_else),
        cmocka_unit_test(numbers_do_not_wrap),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
