/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pmix-server/world.h"

enum { HOSTS_MAX = 8 };

static Mprun__Placement placements[HOSTS_MAX], *list[HOSTS_MAX];
static Mprun__PmiWorld message;

static void place(const char *host, uint32_t first, uint32_t count)
{
    Mprun__Placement *p = &placements[message.n_hosts];
    mprun__placement__init(p);
    p->host = (ProtobufCBinaryData){strlen(host), (uint8_t *)host};
    p->first_rank = first;
    p->count = count;
    list[message.n_hosts++] = p;
    message.hosts = list;
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
    assert_int_equal(world_local_count(w), 3);
    assert_text(world_node_names(w), "n1,n2");
    assert_text(world_rank_map(w), "0,1;2,3,4");
    assert_text(world_node_ranks(w, 1), "2,3,4");
    assert_text(world_process_mapping(w), "(vector,(0,1,2),(1,1,3))");
    assert_false(world_is_local(w, 1));
    assert_true(world_is_local(w, 4));
    assert_false(world_is_local(w, 5));
    assert_null(world_block_of(w, 5));
    assert_string_equal(world_bound(w, 0), "");
    world_destroy(w);
}

static void ranks_dealt_out_in_turns(void **state)
{
    begin(6, 1);
    place("n1", 0, 1);
    place("n2", 1, 1);
    place("n1", 2, 1);
    place("n2", 3, 2);
    place("n1", 5, 1);
    struct world *w = made();
    assert_int_equal(w->nnodes, 2);
    assert_text(world_rank_map(w), "0,2,5;1,3,4");
    assert_text(world_process_mapping(w), "(vector,(0,2,1),(0,1,1),(1,1,2),(0,1,1))");
    assert_int_equal(world_local_count(w), 3);
    assert_int_equal(world_block_of(w, 4)->first_local, 1);
    assert_int_equal(world_block_of(w, 5)->first_local, 2);
    world_destroy(w);
}

static void a_host_of_several_placements_counts_once(void **state)
{
    struct idset hosts = {.words = NULL};
    begin(3, 2);
    place("n1", 0, 1);
    place("n2", 1, 1);
    place("n1", 2, 1);
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
    assert_int_equal(world_local_count(w), 0);
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
    assert_int_equal(world_block_of(w, 3)->node, 0);
    world_destroy(w);
}

static void programs_and_bindings_are_kept(void **state)
{
    Mprun__App app = MPRUN__APP__INIT, *apps[] = {&app};
    char *bound[] = {(char *)"0-1", (char *)""};
    ProtobufCBinaryData argv = {5, (uint8_t *)"progX"};
    begin(2, 0);
    place("n1", 0, 2);
    app.n_argv = 1;
    app.argv = &argv;
    app.first_rank = 1;
    app.count = 1;
    message.apps = apps;
    message.n_apps = 1;
    message.bound_threads = bound;
    message.n_bound_threads = 2;
    struct world *w = made();
    assert_null(world_app_of(w, 0));
    assert_string_equal(world_app_of(w, 1)->program, "progX");
    assert_string_equal(world_bound(w, 0), "0-1");
    assert_string_equal(world_bound(w, 1), "");
    assert_string_equal(world_bound(w, 2), "");
    world_destroy(w);
    app.count = 2;
    assert_refused("not all in it");
    app.count = 1;
    message.n_bound_threads = 1;
    assert_refused("bindings of 1 ranks, but 2 are here");
}

static void worlds_that_do_not_hold_together_are_refused(void **state)
{
    begin(2, 0);
    assert_refused("this is host 0 of 0");
    place("n1", 0, 1);
    assert_refused("placements for 1 ranks, but 2 ranks");
    place("n2", 0, 1);
    assert_refused("rank 1 has no host");
    placements[1].first_rank = 2;
    assert_refused("rank 1 has no host");
    placements[1].first_rank = 1;
    placements[1].count = UINT32_MAX;
    assert_refused("placements for 4294967296 ranks");
    placements[1].count = 1;
    message.nranks = 0;
    assert_refused("no ranks");
    message.nranks = 2;
    message.nspace = (char *)"";
    assert_refused("empty or too long");
    message.nspace = (char *)"secret";
    message.host_index = 2;
    assert_refused("this is host 2 of 2");
    message.host_index = 1;
    world_destroy(made());
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
        cmocka_unit_test(a_host_of_several_placements_counts_once),
        cmocka_unit_test(hosts_without_ranks_are_no_nodes),
        cmocka_unit_test(order_of_placements_does_not_matter),
        cmocka_unit_test(programs_and_bindings_are_kept),
        cmocka_unit_test(worlds_that_do_not_hold_together_are_refused),
        cmocka_unit_test(worlds_are_found_by_number_and_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
