/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/rank-set.h"

static struct rank_name name(uint32_t world, uint32_t rank)
{
    return (struct rank_name){world, rank, 0};
}

/* The set answers every question on ranks as this list does. */
static void assert_ranks(const struct rank_set *s, const struct rank_name *wanted, uint32_t n)
{
    assert_int_equal(rank_set_count(s), n);
    for (uint32_t i = 0; i < n; i++) {
        struct rank_name r = rank_set_at(s, i);
        assert_int_equal(r.world, wanted[i].world);
        assert_int_equal(r.rank, wanted[i].rank);
        assert_int_equal(rank_set_index(s, r), i);
    }
    for (uint32_t world = 0, next = 0; world < 4; world++)
        for (uint32_t rank = 0; rank < 40; rank++) {
            bool is_next = next < n && wanted[next].world == world && wanted[next].rank == rank;
            assert_int_equal(rank_set_has(s, name(world, rank)), is_next);
            next += is_next;
        }
}

static void assert_text(const struct rank_set *s, const char *wanted)
{
    char *text = rank_set_format(s);
    assert_string_equal(text, wanted);
    free(text);
}

static void an_empty_set_has_no_rank(void **state)
{
    struct rank_set s = {0};
    assert_ranks(&s, NULL, 0);
    assert_text(&s, "no ranks");
    rank_set_free(&s);
}

static void a_block_is_one_cycle(void **state)
{
    struct rank_set s = {0};
    const struct rank_name wanted[] = {{0, 4, 0}, {0, 5, 0}, {0, 6, 0}};
    assert_int_equal(rank_set_add_block(&s, 0, 4, 3), 0);
    assert_ranks(&s, wanted, 3);
    assert_text(&s, "ranks 4 to 6");
    rank_set_free(&s);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(rank_set_add(&s, wanted[i]), 0);
    assert_int_equal(s.ncycles, 1);
    assert_ranks(&s, wanted, 3);
    rank_set_free(&s);
}

static void ranks_dealt_in_turn_are_cycles(void **state)
{
    struct rank_set s = {0};
    static const uint32_t ranks[] = {1, 5, 9, 13, 15, 17, 19, 30};
    struct rank_name wanted[8];
    for (uint32_t i = 0; i < 8; i++) {
        wanted[i] = name(0, ranks[i]);
        assert_int_equal(rank_set_add(&s, wanted[i]), 0);
    }
    assert_int_equal(s.ncycles, 3); /* 1-13 by 4, 15-19 by 2, 30 */
    assert_ranks(&s, wanted, 8);
    assert_text(&s, "ranks 1 to 13 in steps of 4, 15 to 19 in steps of 2, 30");
    rank_set_free(&s);
}

static void a_list_keeps_every_rank(void **state)
{
    struct rank_set s = {0};
    static const uint32_t ranks[] = {0, 1, 8, 9, 16, 17, 21, 22, 39};
    struct rank_name wanted[9];
    for (uint32_t i = 0; i < 9; i++) {
        wanted[i] = name(0, ranks[i]);
        assert_int_equal(rank_set_add(&s, wanted[i]), 0);
    }
    assert_ranks(&s, wanted, 9);
    assert_text(&s, "ranks 0 to 1, 8 to 9, 16 to 17, 21 to 22, 39");
    rank_set_free(&s);
}

static void a_host_has_ranks_of_several_worlds(void **state)
{
    struct rank_set s = {0};
    const struct rank_name wanted[] = {{0, 0, 0}, {0, 2, 0}, {1, 0, 0},
                                       {1, 1, 0}, {1, 2, 0}, {3, 2, 0}};
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(rank_set_add(&s, wanted[i]), 0);
    assert_ranks(&s, wanted, 6);
    assert_text(&s, "ranks 0, 2, 1.0 to 1.2, 3.2");
    assert_int_equal(rank_set_index(&s, (struct rank_name){1, 2, 7}), 4); /* restarted */
    rank_set_free(&s);
}

static void what_is_not_behind_the_last_rank_is_refused(void **state)
{
    struct rank_set s = {0};
    assert_int_equal(rank_set_add_cycle(&s, (struct rank_cycle){1, 3, 3, 3, 0}), 0);
    const struct rank_cycle wrong[] = {
        {1, 9, 1, 1, 0},           {1, 4, 1, 1, 0},          {0, 20, 1, 1, 0},
        {1, 10, 1, 0, 0},          {1, 10, 0, 2, 0},         {1, UINT32_MAX, 1, 2, 0},
        {1, 10, 2, UINT32_MAX, 0}, {2, 0, 1, UINT32_MAX, 0},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        errno = 0;
        assert_int_equal(rank_set_add_cycle(&s, wrong[i]), -1);
        assert_int_equal(errno, EINVAL);
    }
    assert_int_equal(rank_set_add(&s, name(1, 9)), -1);
    assert_int_equal(rank_set_add(&s, name(0, 12)), -1);
    assert_text(&s, "ranks 1.3 to 1.9 in steps of 3");
    rank_set_free(&s);
}

static void sets_of_hosts_that_follow_each_other_have_a_distance(void **state)
{
    struct rank_set a = {0}, b = {0};
    rank_set_add_block(&a, 0, 0, 4);
    rank_set_add_block(&b, 0, 4, 4);
    assert_int_equal(rank_set_distance(&a, &b), 4);
    assert_int_equal(rank_set_distance(&b, &a), -1);
    assert_false(rank_set_meets(&a, &b));
    rank_set_add_cycle(&a, (struct rank_cycle){0, 10, 5, 2, 0});
    assert_int_equal(rank_set_distance(&a, &b), -1);
    rank_set_add_cycle(&b, (struct rank_cycle){0, 14, 5, 2, 0});
    assert_int_equal(rank_set_distance(&a, &b), 4);
    rank_set_add(&b, name(0, 24));
    assert_int_equal(rank_set_distance(&a, &b), -1);
    rank_set_add(&a, name(0, 19));
    assert_true(rank_set_meets(&a, &b));
    struct rank_set copy = {0};
    assert_int_equal(rank_set_add_all(&copy, &a), 0);
    assert_int_equal(rank_set_distance(&a, &copy), 0);
    assert_int_equal(rank_set_count(&copy), 7);
    assert_int_equal(rank_set_add_all(&copy, &b), -1);
    rank_set_free(&copy);
    rank_set_free(&a);
    rank_set_free(&b);
}

static void long_lists_come_back(void **state)
{
    struct rank_set s = {0};
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(rank_set_add(&s, name(0, i * i)), 0);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(rank_set_at(&s, i).rank, i * i);
        assert_int_equal(rank_set_index(&s, name(0, i * i)), i);
    }
    assert_int_equal(rank_set_index(&s, name(0, 82 * 82 + 1)), -1);
    rank_set_free(&s);
}

/* ---- which host has a rank ------------------------------------------------------------------- */

static void the_map_answers_which_host_has_a_rank(void **state)
{
    struct rank_set even = {0}, odd = {0}, end = {0};
    struct rank_map m;
    struct error e;
    rank_set_add_cycle(&even, (struct rank_cycle){2, 0, 2, 3, 0});
    rank_set_add_cycle(&odd, (struct rank_cycle){2, 1, 2, 2, 0});
    rank_set_add_block(&end, 2, 5, 2);
    rank_map_create(&m, 2, 7);
    assert_int_equal(rank_map_put(&m, &even, 0, &e), 0);
    assert_int_equal(rank_map_put(&m, &end, 5, &e), 0);
    assert_int_equal(rank_map_check(&m, &e), -1);
    assert_string_equal(e.text, "rank 1 has no host");
    assert_int_equal(rank_map_host(&m, name(2, 1)), -1);
    assert_int_equal(rank_map_put(&m, &odd, 1, &e), 0);
    assert_int_equal(rank_map_check(&m, &e), 0);
    for (uint32_t rank = 0; rank < 5; rank++)
        assert_int_equal(rank_map_host(&m, name(2, rank)), rank % 2);
    assert_int_equal(rank_map_host(&m, name(2, 6)), 5);
    assert_int_equal(rank_map_host(&m, name(2, 7)), -1);
    assert_int_equal(rank_map_host(&m, name(0, 1)), -1);
    rank_map_free(&m);
    rank_set_free(&even);
    rank_set_free(&odd);
    rank_set_free(&end);
}

static void a_rank_on_two_hosts_or_of_no_world_is_refused(void **state)
{
    struct rank_set first = {0}, again = {0}, beyond = {0}, other = {0};
    struct rank_map m;
    struct error e;
    rank_set_add_block(&first, 0, 0, 3);
    rank_set_add_cycle(&again, (struct rank_cycle){0, 2, 2, 2, 0});
    rank_set_add_block(&beyond, 0, 3, UINT32_MAX - 3);
    rank_set_add_block(&other, 1, 3, 1);
    rank_map_create(&m, 0, 5);
    assert_int_equal(rank_map_put(&m, &first, 0, &e), 0);
    assert_int_equal(rank_map_put(&m, &again, 1, &e), -1);
    assert_string_equal(e.text, "rank 2 has more than one host");
    assert_int_equal(rank_map_put(&m, &other, 1, &e), -1);
    assert_int_equal(rank_map_put(&m, &beyond, 1, &e), -1);
    assert_string_equal(e.text, "rank 5 of a world of 5 ranks");
    rank_map_free(&m);
    rank_set_free(&first);
    rank_set_free(&again);
    rank_set_free(&beyond);
    rank_set_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_set_has_no_rank),
        cmocka_unit_test(a_block_is_one_cycle),
        cmocka_unit_test(ranks_dealt_in_turn_are_cycles),
        cmocka_unit_test(a_list_keeps_every_rank),
        cmocka_unit_test(a_host_has_ranks_of_several_worlds),
        cmocka_unit_test(what_is_not_behind_the_last_rank_is_refused),
        cmocka_unit_test(sets_of_hosts_that_follow_each_other_have_a_distance),
        cmocka_unit_test(long_lists_come_back),
        cmocka_unit_test(the_map_answers_which_host_has_a_rank),
        cmocka_unit_test(a_rank_on_two_hosts_or_of_no_world_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
