/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pmix-server/world.h"

enum { HOSTS_MAX = 8, NUMBERS_MAX = 24 };

static Mprun__Placement placements[HOSTS_MAX], *list[HOSTS_MAX];
static uint32_t cycles[HOSTS_MAX][NUMBERS_MAX];
static Mprun__PmiWorld message;

/* Further ranks of the host that was placed last. */
static void and_ranks(uint32_t first, uint32_t stride, uint32_t count)
{
    Mprun__Placement *p = &placements[message.n_hosts - 1];
    p->ranks = cycles[message.n_hosts - 1];
    p->ranks[p->n_ranks++] = first;
    p->ranks[p->n_ranks++] = stride;
    p->ranks[p->n_ranks++] = count;
}

static void place(const char *host, uint32_t first, uint32_t count)
{
    Mprun__Placement *p = &placements[message.n_hosts];
    mprun__placement__init(p);
    p->host = (ProtobufCBinaryData){strlen(host), (uint8_t *)host};
    list[message.n_hosts++] = p;
    message.hosts = list;
    if (count)
        and_ranks(first, 1, count);
}

static void begin(uint32_t nranks, uint32_t host_index)
{
    mprun__pmi_world__init(&message);
    message.nspace = (char *)"secret";
    message.nranks = nranks;
    message.host_index = host_index;
}

static struct world *made(void)
{
    struct error err;
    struct world *w = world_create(&message, &err);
    if (!w)
        fail_msg("%s", err.text);
    return w;
}

static void assert_refused(const char *why)
{
    struct error err;
    assert_null(world_create(&message, &err));
    if (!strstr(err.text, why))
        fail_msg("it said '%s', not '%s'", err.text, why);
}

static void assert_text(char *text, const char *wanted)
{
    assert_string_equal(text, wanted);
    free(text);
}

static void one_block_a_host(void **state)
{
    begin(5, 1);
    place("n1", 0, 2);
    place("n2", 2, 3);
    struct world *w = made();
    assert_int_equal(w->nnodes, 2);
    assert_int_equal(w->here, 1);
    assert_int_equal(w->own_host, 1);
    assert_int_equal(rank_set_count(world_local_ranks(w)), 3);
    assert_text(world_node_names(w), "n1,n2");
    assert_text(world_rank_map(w), "0,1;2,3,4");
    assert_text(world_node_ranks(w, 1), "2,3,4");
    assert_text(world_process_mapping(w), "(vector,(0,1,2),(1,1,3))");
    assert_false(world_is_local(w, 1));
    assert_true(world_is_local(w, 4));
    assert_false(world_is_local(w, 5));
    assert_int_equal(world_node_of(w, 4), 1);
    assert_int_equal(world_node_of(w, 5), -1);
    assert_string_equal(world_bound(w, 0), "");
    world_destroy(w);
}

static void ranks_dealt_out_in_turns(void **state)
{
    begin(6, 1);
    place("n1", 0, 1);
    and_ranks(2, 3, 2);
    place("n2", 1, 1);
    and_ranks(3, 1, 2);
    struct world *w = made();
    assert_int_equal(w->nnodes, 2);
    assert_text(world_rank_map(w), "0,2,5;1,3,4");
    assert_text(world_process_mapping(w), "(vector,(0,2,1),(0,1,1),(1,1,2),(0,1,1))");
    assert_int_equal(rank_set_count(world_local_ranks(w)), 3);
    assert_int_equal(rank_set_at(world_local_ranks(w), 2).rank, 4);
    assert_int_equal(world_node_of(w, 4), 1);
    assert_int_equal(world_node_of(w, 5), 0);
    world_destroy(w);
}

static void assert_dealt(uint32_t nranks, uint32_t nhosts, const char *mapping)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    begin(nranks, 0);
    for (uint32_t i = 0; i < nhosts; i++) {
        place(names[i], 0, 0);
        and_ranks(i, nhosts, (nranks - i + nhosts - 1) / nhosts);
    }
    struct world *w = made();
    assert_text(world_process_mapping(w), mapping);
    world_destroy(w);
}

static void the_mapping_of_cycles_is_repeated(void **state)
{
    assert_dealt(8, 4, "(vector,(0,4,1))");
    assert_dealt(11, 4, "(vector,(0,4,1))");
    assert_dealt(3, 2, "(vector,(0,2,1))");
    begin(7, 0); /* n1 has room for two */
    place("n1", 0, 0);
    and_ranks(0, 3, 2);
    place("n2", 0, 0);
    and_ranks(1, 3, 2);
    and_ranks(6, 1, 1);
    place("n3", 0, 0);
    and_ranks(2, 3, 2);
    struct world *w = made();
    assert_text(world_process_mapping(w), "(vector,(0,3,1),(0,3,1),(1,1,1))");
    assert_text(world_rank_map(w), "0,3;1,4,6;2,5");
    world_destroy(w);
}

static void messages_of_hosts_that_count_up_are_taken(void **state)
{
    begin(8, 2);
    place("n1", 0, 0);
    and_ranks(0, 3, 2);
    placements[0].following = 2;
    placements[0].shift = 1;
    place("other", 6, 2);
    struct world *w = made();
    assert_text(world_node_names(w), "n1,n2,n3,other");
    assert_text(world_rank_map(w), "0,3;1,4;2,5;6,7");
    assert_int_equal(w->here, 2);
    assert_int_equal(w->nhosts, 4);
    world_destroy(w);
}

static void hosts_of_ranks_are_collected(void **state)
{
    struct idset hosts = {.words = NULL};
    begin(3, 0);
    place("n1", 0, 0);
    and_ranks(0, 2, 2);
    place("n2", 1, 1);
    struct world *w = made();
    assert_int_equal(w->own_host, 0);
    assert_int_equal(world_add_all_hosts(w, &hosts), 0);
    assert_text(idset_format(&hosts), "0-1");
    idset_free(&hosts);
    hosts = (struct idset){.words = NULL};
    assert_int_equal(world_add_host(w, 2, &hosts), 0);
    assert_text(idset_format(&hosts), "0");
    assert_int_equal(world_add_host(w, 3, &hosts), -1);
    idset_free(&hosts);
    world_destroy(w);
}

static void hosts_without_ranks_are_no_nodes(void **state)
{
    begin(2, 0);
    place("idle", 0, 0);
    place("n1", 0, 2);
    struct world *w = made();
    assert_int_equal(w->nnodes, 1);
    assert_int_equal(w->here, -1);
    assert_int_equal(rank_set_count(world_local_ranks(w)), 0);
    assert_int_equal(w->nodes[0].host, 1);
    assert_false(world_is_local(w, 0));
    world_destroy(w);
}

static void order_of_placements_does_not_matter(void **state)
{
    begin(4, 0);
    place("n2", 2, 2);
    place("n1", 0, 2);
    struct world *w = made();
    assert_text(world_rank_map(w), "2,3;0,1");
    assert_int_equal(world_node_of(w, 3), 0);
    world_destroy(w);
}

static void programs_and_bindings_are_kept(void **state)
{
    Mprun__App app = MPRUN__APP__INIT;
    char *bound[] = {(char *)"0-1", (char *)""};
    ProtobufCBinaryData argv = {5, (uint8_t *)"progX"};
    Mprun__App first = MPRUN__APP__INIT, *apps[] = {&first, &app};
    begin(2, 0);
    place("n1", 0, 2);
    app.n_argv = 1;
    app.argv = &argv;
    first.count = app.count = 1;
    message.apps = apps;
    message.n_apps = 2;
    message.bound_threads = bound;
    message.n_bound_threads = 2;
    struct world *w = made();
    assert_string_equal(world_app_of(w, 0)->program, "");
    assert_string_equal(world_app_of(w, 1)->program, "progX");
    assert_null(world_app_of(w, 2));
    assert_string_equal(world_bound(w, 0), "0-1");
    assert_string_equal(world_bound(w, 1), "");
    assert_string_equal(world_bound(w, 2), "");
    world_destroy(w);
    app.count = 2;
    assert_refused("not all in it");
    app.count = 0;
    assert_refused("not all in it");
    app.count = 1;
    message.n_bound_threads = 1;
    assert_refused("bindings of 1 ranks, but 2 are here");
}

static void worlds_that_do_not_hold_together_are_refused(void **state)
{
    begin(2, 0);
    assert_refused("take world 0: rank 0 has no host");
    place("n1", 0, 1);
    assert_refused("rank 1 has no host");
    place("n2", 0, 1);
    assert_refused("rank 0 has more than one host");
    cycles[1][0] = 2;
    assert_refused("rank 2 of a world of 2 ranks");
    cycles[1][0] = 1;
    cycles[1][2] = UINT32_MAX - 1;
    assert_refused("rank 2 of a world of 2 ranks");
    cycles[1][0] = 2;
    cycles[1][2] = UINT32_MAX;
    assert_refused("do not ascend");
    cycles[1][0] = 1;
    cycles[1][2] = 1;
    message.nranks = 0;
    assert_refused("no ranks");
    message.nranks = UINT32_MAX;
    assert_refused("too many ranks");
    message.nranks = 2;
    message.nspace = (char *)"";
    assert_refused("empty or too long");
    message.nspace = (char *)"secret";
    message.host_index = 2;
    assert_refused("this is host 2 of 2");
    message.host_index = 1;
    world_destroy(made());
}

static void a_world_of_another_step_has_no_rank_and_no_directory_here(void **state)
{
    begin(5, 1);
    place("n1", 0, 2);
    place("n2", 2, 3);
    message.directory = (ProtobufCBinaryData){5, (uint8_t *)"/home"};
    message.of_other_step = true;
    assert_refused("its number is not of its step");
    message.world = WORLD_OF_OTHER_STEP | 1;
    struct world *w = made();
    assert_true(world_is_other(w));
    assert_int_equal(w->here, -1);
    assert_int_equal(rank_set_count(world_local_ranks(w)), 0);
    assert_int_equal(world_node_of(w, 4), 1);
    assert_string_equal(w->directory, "");
    world_destroy(w);
    message.of_other_step = false;
    assert_refused("its number is not of its step");
}

static void worlds_are_found_by_number_and_name(void **state)
{
    begin(1, 0);
    place("n1", 0, 1);
    struct world *a = made();
    message.world = 7;
    message.nspace = (char *)"other";
    struct world *b = made();
    a->next = b;
    assert_ptr_equal(world_by_number(a, 7), b);
    assert_ptr_equal(world_by_nspace(a, "secret"), a);
    assert_null(world_by_number(a, 1));
    assert_null(world_by_nspace(a, "secre"));
    world_destroy(a);
    world_destroy(b);
    world_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_a_host),
        cmocka_unit_test(ranks_dealt_out_in_turns),
        cmocka_unit_test(the_mapping_of_cycles_is_repeated),
        cmocka_unit_test(messages_of_hosts_that_count_up_are_taken),
        cmocka_unit_test(hosts_of_ranks_are_collected),
        cmocka_unit_test(hosts_without_ranks_are_no_nodes),
        cmocka_unit_test(order_of_placements_does_not_matter),
        cmocka_unit_test(programs_and_bindings_are_kept),
        cmocka_unit_test(worlds_that_do_not_hold_together_are_refused),
        cmocka_unit_test(a_world_of_another_step_has_no_rank_and_no_directory_here),
        cmocka_unit_test(worlds_are_found_by_number_and_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
