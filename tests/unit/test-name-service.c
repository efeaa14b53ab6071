/* SPDX-License-Identifier: BSD-3-Clause */
/* test-name-service.c - names have a range and a life, lookups wait, and all of it is bounded */
#include "launcher/worlds/name-service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/loop.h"
#include "launcher/tunables.h"
#include "launcher/worlds/worlds.h"
#include "wire/messages/names.h"
#include "wire/messages/values.h"

struct player { /* a host: the answers that it got */
    char text[400];
    int answers;
};

static struct name_service names;
static struct world own_world;
static struct worlds worlds = {.first = &own_world};
static struct loop *loop;
static struct player here, there;

static void reply(void *host, const Mprun__NameReply *m)
{
    struct player *p = host;
    int at = snprintf(p->text, sizeof(p->text), "%d:%u", (int)m->id, m->status);
    for (size_t i = 0; i < m->n_names; i++)
        at +=
            snprintf(p->text + at, sizeof(p->text) - (size_t)at, " %s=%.*s of %d.%d%s",
                     m->names[i]->key, (int)m->names[i]->value.len, (char *)m->names[i]->value.data,
                     m->names[i]->owner ? (int)m->names[i]->owner->world : -1,
                     m->names[i]->owner ? (int)m->names[i]->owner->rank : -1, m->names[i]->nspace);
    p->answers++;
    loop_stop(loop);
}

static int setup(void **state)
{
    here = there = (struct player){.answers = 0};
    loop = loop_create(NULL);
    own_world = (struct world){.nranks = 2, .nspace = "mprun-jcot3qdmsi45dtfc72qazlvyhn"};
    name_service_init(&names, loop, &worlds, reply);
    return 0;
}

static int teardown(void **state)
{
    name_service_free(&names);
    loop_destroy(loop);
    return 0;
}

static struct rank_name rank(uint32_t world, uint32_t number)
{
    return (struct rank_name){.world = world, .rank = number};
}

/* A request for one name, with answers under this id. */
static int request(struct player *from, struct rank_name who, Mprun__NameRequest like,
                   const char *key, const char *value)
{
    Mprun__Name name = MPRUN__NAME__INIT, *list[] = {&name};
    Mprun__RankName packed;
    rank_name_pack(who, &packed);
    name.key = (char *)(uintptr_t)key;
    name.value = bytes_of(value);
    like.from = &packed;
    like.names = list;
    like.n_names = 1;
    return name_service_request(&names, from, &like);
}

static Mprun__NameRequest message(uint64_t id, enum name_request what)
{
    Mprun__NameRequest m = MPRUN__NAME_REQUEST__INIT;
    m.id = id;
    m.what = what;
    return m;
}

static void publish(struct player *from, struct rank_name who, enum name_range range,
                    enum name_life life, const char *key, const char *value)
{
    Mprun__NameRequest m = message(1, NAME_PUBLISH);
    m.range = range;
    m.life = life;
    assert_int_equal(request(from, who, m, key, value), 0);
}

static const char *look_up(struct player *from, struct rank_name who, const char *key)
{
    assert_int_equal(request(from, who, message(2, NAME_LOOKUP), key, ""), 0);
    return from->text;
}

static void a_name_is_found_in_its_range_alone(void **state)
{
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "step", "s");
    publish(&here, rank(0, 0), NAME_RANGE_WORLD, NAME_LIFE_STEP, "world", "w");
    publish(&here, rank(0, 0), NAME_RANGE_HOST, NAME_LIFE_STEP, "host", "h");
    publish(&here, rank(0, 0), NAME_RANGE_RANK, NAME_LIFE_STEP, "rank", "r");
    assert_string_equal(here.text, "1:0");
    assert_string_equal(look_up(&there, rank(1, 0), "step"), "2:0 step=s of 0.0");
    assert_string_equal(look_up(&there, rank(0, 1), "world"), "2:0 world=w of 0.0");
    assert_string_equal(look_up(&there, rank(1, 0), "world"), "2:2");
    assert_string_equal(look_up(&here, rank(1, 0), "host"), "2:0 host=h of 0.0");
    assert_string_equal(look_up(&there, rank(0, 1), "host"), "2:2");
    assert_string_equal(look_up(&here, rank(0, 0), "rank"), "2:0 rank=r of 0.0");
    assert_string_equal(look_up(&here, rank(0, 1), "rank"), "2:2");
}

static void a_name_goes_with_what_it_lives_with(void **state)
{
    publish(&here, rank(1, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "step", "s");
    publish(&here, rank(1, 0), NAME_RANGE_STEP, NAME_LIFE_WORLD, "world", "w");
    publish(&here, rank(1, 0), NAME_RANGE_STEP, NAME_LIFE_RANK, "rank", "r");
    publish(&here, rank(1, 0), NAME_RANGE_STEP, NAME_LIFE_READ, "read", "once");
    assert_string_equal(look_up(&there, rank(0, 0), "read"), "2:0 read=once of 1.0");
    assert_string_equal(look_up(&there, rank(0, 0), "read"), "2:2");
    name_service_rank_ended(&names, rank(1, 0));
    assert_string_equal(look_up(&there, rank(0, 0), "rank"), "2:2");
    assert_string_equal(look_up(&there, rank(0, 0), "world"), "2:0 world=w of 1.0");
    name_service_world_ended(&names, 1);
    assert_string_equal(look_up(&there, rank(0, 0), "world"), "2:2");
    assert_string_equal(look_up(&there, rank(0, 0), "step"), "2:0 step=s of 1.0");
}

static void a_name_is_there_once_and_its_owner_alone_withdraws_it(void **state)
{
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "name", "first");
    publish(&there, rank(0, 1), NAME_RANGE_STEP, NAME_LIFE_STEP, "name", "second");
    assert_string_equal(there.text, "1:4");
    assert_int_equal(request(&there, rank(0, 1), message(3, NAME_UNPUBLISH), "name", ""), 0);
    assert_string_equal(there.text, "3:2");
    assert_int_equal(request(&here, rank(0, 0), message(3, NAME_UNPUBLISH), "name", ""), 0);
    assert_string_equal(here.text, "3:0");
    assert_string_equal(look_up(&there, rank(0, 1), "name"), "2:2");
}

static void a_lookup_waits_for_the_name_for_its_time_or_until_its_rank_ends(void **state)
{
    Mprun__NameRequest m = message(5, NAME_LOOKUP);
    m.wanted = 1;
    assert_int_equal(request(&there, rank(0, 1), m, "later", ""), 0);
    assert_int_equal(there.answers, 0);
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_READ, "later", "now");
    assert_string_equal(there.text, "5:0 later=now of 0.0");
    m.id = 6;
    m.seconds = 1;
    assert_int_equal(request(&there, rank(0, 1), m, "later", ""), 0);
    loop_run(loop);
    assert_string_equal(there.text, "6:3");
    m.id = 7;
    m.seconds = 0;
    assert_int_equal(request(&there, rank(0, 1), m, "later", ""), 0);
    name_service_rank_ended(&names, rank(0, 0));
    assert_string_equal(there.text, "6:3");
    name_service_rank_ended(&names, rank(0, 1));
    assert_string_equal(there.text, "7:3");
    assert_int_equal(names.bytes, 0);
}

/* ---- other steps ----------------------------------------------------------------------------- */

static size_t others; /* that answer lookups */
static uint64_t asked, forgotten;
static int joined;
static bool knows_steps;

static bool join(void *arg)
{
    joined++;
    return knows_steps;
}

static size_t ask(void *arg, uint64_t number, const Mprun__NameRequest *m)
{
    asked = number;
    return others;
}

static void forget(void *arg, uint64_t number)
{
    forgotten = number;
}

static const char *nspace(void *arg, uint32_t world)
{
    return world ? "" : " in nspace-0";
}

static void use_steps(size_t n)
{
    static const struct name_steps steps = {
        .join = join, .ask = ask, .forget = forget, .reply = reply, .nspace = nspace};
    others = n;
    asked = forgotten = 0;
    joined = 0;
    knows_steps = true;
    name_service_set_steps(&names, &steps, NULL);
}

static void reply_of_step(const char *key, const char *value)
{
    Mprun__NameReply m = MPRUN__NAME_REPLY__INIT;
    Mprun__Name name = MPRUN__NAME__INIT, *list[] = {&name};
    Mprun__RankName owner;
    rank_name_pack(rank(1, 3), &owner);
    name.key = (char *)(uintptr_t)key;
    name.value = bytes_of(value);
    name.owner = &owner;
    name.nspace = (char[]){" in theirs"};
    m.names = list;
    m.n_names = 1;
    name_service_step_reply(&names, asked, &m, true);
}

static void what_is_not_here_is_looked_up_in_other_steps(void **state)
{
    use_steps(2);
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "own", "o");
    assert_int_equal(joined, 1);
    assert_string_equal(look_up(&there, rank(0, 1), "own"), "2:0 own=o of 0.0");
    assert_int_equal(asked, 0);
    assert_string_equal(look_up(&there, rank(0, 1), "theirs"), "2:0 own=o of 0.0");
    assert_int_not_equal(asked, 0);
    name_service_step_reply(&names, asked, NULL, true);
    assert_int_equal(there.answers, 1); /* the second has not answered */
    reply_of_step("theirs", "t");
    assert_string_equal(there.text, "2:0 theirs=t of 0.3 in theirs");
    assert_int_equal(forgotten, asked);
    look_up(&there, rank(0, 1), "theirs"); /* it is not kept */
    name_service_step_reply(&names, asked, NULL, true);
    name_service_step_reply(&names, asked, NULL, true);
    assert_string_equal(there.text, "2:2");
    look_up(&there, rank(0, 1), "nobody answers");
    loop_run(loop);
    assert_string_equal(there.text, "2:2");
    assert_int_equal(there.answers, 4);
    use_steps(0);
    look_up(&there, rank(0, 1), "no other step");
    assert_int_equal(there.answers, 5);
}

static void what_another_step_has_said_serves_its_lookup_alone(void **state)
{
    Mprun__NameRequest m = message(6, NAME_LOOKUP);
    use_steps(1);
    m.wanted = 2; /* of one: so it waits */
    m.seconds = 1;
    assert_int_equal(request(&there, rank(0, 1), m, "theirs", ""), 0);
    reply_of_step("theirs", "old");
    assert_int_equal(there.answers, 0);
    loop_run(loop);
    assert_string_equal(there.text, "6:3");
    assert_int_equal(names.bytes, 0);
    look_up(&there, rank(0, 1), "theirs");
    name_service_step_reply(&names, asked, NULL, true); /* it has it no more */
    assert_string_equal(there.text, "2:2");
}

static void while_other_steps_are_not_known_what_needs_them_waits(void **state)
{
    use_steps(1);
    knows_steps = false;
    publish(&here, rank(0, 0), NAME_RANGE_WORLD, NAME_LIFE_STEP, "own", "o");
    assert_int_equal(joined, 0);
    assert_int_equal(here.answers, 1);
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "name", "n");
    assert_int_equal(joined, 1);
    assert_int_equal(here.answers, 1);
    look_up(&there, rank(0, 1), "name"); /* it is there already */
    assert_string_equal(there.text, "2:0 name=n of 0.0");
    publish(&there, rank(0, 1), NAME_RANGE_STEP, NAME_LIFE_STEP, "name", "twice");
    assert_string_equal(there.text, "1:4");
    look_up(&there, rank(0, 1), "theirs");
    assert_int_equal(there.answers, 2);
    assert_int_equal(asked, 0);
    knows_steps = true;
    name_service_steps_known(&names);
    assert_string_equal(here.text, "1:0");
    assert_int_equal(here.answers, 2);
    assert_int_equal(there.answers, 2);
    reply_of_step("theirs", "t");
    assert_string_equal(there.text, "2:0 theirs=t of 0.3 in theirs");
    name_service_steps_known(&names);
    assert_int_equal(here.answers + there.answers, 5);
}

static void nothing_waits_for_ever_for_other_steps(void **state)
{
    use_steps(1);
    knows_steps = false;
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "name", "n");
    loop_run(loop);
    assert_string_equal(here.text, "1:0");
    look_up(&there, rank(0, 1), "theirs");
    loop_run(loop);
    assert_string_equal(there.text, "2:2");
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_RANK, "other", "o");
    name_service_rank_ended(&names, rank(0, 0));
    assert_int_equal(here.answers, 2);
    name_service_steps_known(&names);
    assert_int_equal(here.answers, 2);
}

static void a_lookup_of_another_step_finds_what_is_for_all_until_it_is_forgotten(void **state)
{
    struct player step = {.answers = 0};
    Mprun__Name name = MPRUN__NAME__INIT, *list[] = {&name};
    Mprun__RankName who = MPRUN__RANK_NAME__INIT;
    Mprun__NameRequest m = message(9, NAME_LOOKUP);
    use_steps(0);
    m.from = &who;
    m.names = list;
    m.n_names = 1;
    publish(&here, rank(0, 0), NAME_RANGE_WORLD, NAME_LIFE_STEP, "world", "w");
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_READ, "read", "once");
    name.key = (char[]){"world"};
    assert_int_equal(name_service_step_request(&names, &step, &m), 0);
    assert_string_equal(step.text, "9:2");
    name.key = (char[]){"read"};
    assert_int_equal(name_service_step_request(&names, &step, &m), 0);
    assert_string_equal(step.text, "9:0 read=once of 0.0 in nspace-0");
    m.wanted = 1;
    assert_int_equal(name_service_step_request(&names, &step, &m), 0);
    m.what = NAME_FORGET;
    assert_int_equal(name_service_step_request(&names, &step, &m), 0);
    m.what = NAME_LOOKUP;
    assert_int_equal(name_service_step_request(&names, &step, &m), 0);
    name_service_step_gone(&names, &step);
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "read", "later");
    assert_int_equal(step.answers, 2);
    m.what = NAME_PUBLISH;
    assert_int_equal(name_service_step_request(&names, &step, &m), -1);
}

/* Waits for a name under this id. */
static void wait_for(struct player *from, uint64_t id, const char *key)
{
    Mprun__NameRequest m = message(id, NAME_LOOKUP);
    m.wanted = 1;
    request(from, rank(0, 1), m, key, "");
}

static void nobody_waits_at_a_port_of_open_mpi_whose_world_is_gone(void **state)
{
    wait_for(&here, 1, "2958646194.0:1766825754:accept"); /* of our world */
    wait_for(&here, 2, "5.0:7");                          /* these are no ports */
    wait_for(&here, 3, "5.0:7:Accept");
    wait_for(&here, 4, "5.0:seven:accept");
    assert_int_equal(here.answers, 0);
    wait_for(&there, 5, "5.0:7:accept");
    assert_string_equal(there.text, "5:2");
    use_steps(2);
    wait_for(&there, 6, "5.0:7:accept");
    name_service_step_reply(&names, asked, NULL, true);
    assert_int_equal(there.answers, 1);
    name_service_step_reply(&names, asked, NULL, true);
    assert_string_equal(there.text, "6:2");
    own_world.ended = own_world.nranks;
    name_service_world_ended(&names, 0);
    assert_string_equal(here.text, "1:2");
    assert_int_equal(here.answers, 1);
}

static void another_step_is_told_that_a_port_is_not_here_and_waits_on(void **state)
{
    struct player step = {.answers = 0};
    Mprun__Name name = MPRUN__NAME__INIT, *list[] = {&name};
    Mprun__RankName who = MPRUN__RANK_NAME__INIT;
    Mprun__NameRequest m = message(9, NAME_LOOKUP);
    use_steps(1);
    m.from = &who;
    m.names = list;
    m.n_names = 1;
    m.wanted = 1;
    name.key = (char[]){"2958646194.0:1766825754:accept"};
    assert_int_equal(name_service_step_request(&names, &step, &m), 0);
    assert_int_equal(step.answers, 0);
    name.key = (char[]){"5.0:7:accept"};
    assert_int_equal(name_service_step_request(&names, &step, &m), 0);
    assert_string_equal(step.text, "9:2");
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "x", "x");
    assert_int_equal(step.answers, 1);
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "5.0:7:accept", "come");
    assert_string_equal(step.text, "9:0 5.0:7:accept=come of 0.0 in nspace-0");
}

static void names_are_bounded_and_requests_checked(void **state)
{
    char *large = calloc(1, NAMES_BYTES_MAX / 2);
    memset(large, 'x', NAMES_BYTES_MAX / 2 - 1);
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "one", large);
    assert_string_equal(here.text, "1:0");
    publish(&here, rank(0, 0), NAME_RANGE_STEP, NAME_LIFE_STEP, "two", large);
    assert_string_equal(here.text, "1:5");
    free(large);
    Mprun__NameRequest m = message(1, NAME_PUBLISH);
    m.range = NAME_RANGE_COUNT;
    assert_int_equal(request(&here, rank(0, 0), m, "a", ""), -1);
    assert_int_equal(request(&here, rank(0, 0), message(1, 77), "a", ""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_is_found_in_its_range_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_goes_with_what_it_lives_with, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_is_there_once_and_its_owner_alone_withdraws_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_lookup_waits_for_the_name_for_its_time_or_until_its_rank_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(while_other_steps_are_not_known_what_needs_them_waits,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_waits_for_ever_for_other_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_here_is_looked_up_in_other_steps, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_another_step_has_said_serves_its_lookup_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_lookup_of_another_step_finds_what_is_for_all_until_it_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_waits_at_a_port_of_open_mpi_whose_world_is_gone,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(another_step_is_told_that_a_port_is_not_here_and_waits_on,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_bounded_and_requests_checked, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
