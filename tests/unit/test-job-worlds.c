/* SPDX-License-Identifier: BSD-3-Clause */
/* test-job-worlds.c - two steps exchange parts of collectives and data of ranks; what another step
 * sends is checked and bounded */
#include "launcher/worlds/job-worlds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/hosts/host-links.h"
#include "launcher/tunables.h"
#include "launcher/worlds/worlds.h"
#include "wire/little-endian.h"

/* ---- a step, with the functions of mprun that job-worlds.c calls ----------------------------- */

struct side {
    struct host_table hosts; /* first: what hosts_broadcast() gets */
    struct job_worlds worlds;
    struct worlds own;
    struct world world0;
    struct step_plan plan;
    struct placement placement;
    struct rank_set ranks;
    struct app app;
    struct host host;
    struct side *other; /* its number is 1 */
    char told[200];     /* its hosts */
    uint32_t foreign;   /* number of the other's world */
    char answer[100];
    uint8_t reply[100];
};

void hosts_broadcast(struct host_table *t, enum frame_type type, const ProtobufCMessage *m)
{
    struct side *s = (struct side *)t;
    size_t at = strlen(s->told);
    uint32_t number = type == FRAME_PMI_WORLD ? ((const Mprun__PmiWorld *)m)->world
                                              : ((const Mprun__WorldEnd *)m)->world;
    snprintf(s->told + at, sizeof(s->told) - at, "%s %x;",
             type == FRAME_PMI_WORLD ? "world" : "end", number);
    s->foreign = number;
}

bool host_send(struct host *h, enum frame_type type, const ProtobufCMessage *m)
{
    struct side *s = (struct side *)h->table;
    if (type == FRAME_MODEX_REQUEST) {
        const Mprun__ModexRequest *q = (const Mprun__ModexRequest *)m;
        Mprun__ModexReply reply = MPRUN__MODEX_REPLY__INIT;
        reply.id = q->id;
        reply.to_host = q->from_host;
        reply.to_step = q->from_step;
        reply.data = (ProtobufCBinaryData){4, (uint8_t[]){'d', 'a', 't', 'a'}};
        job_worlds_modex_reply(&s->worlds, &reply);
    } else {
        const Mprun__ModexReply *r = (const Mprun__ModexReply *)m;
        snprintf(s->answer, sizeof(s->answer), "%d %d %.*s", (int)r->id, r->status,
                 (int)r->data.len, r->data.data);
    }
    return true;
}

struct host *host_of_rank(const struct host_table *t, struct rank_name name)
{
    struct side *s = (struct side *)(uintptr_t)t;
    return name.world == 0 && name.rank < s->world0.nranks ? &s->host : NULL;
}

struct host *host_at(const struct host_table *t, uint32_t launch_index)
{
    struct side *s = (struct side *)(uintptr_t)t;
    return launch_index == 0 ? &s->host : NULL;
}

struct world *worlds_find(const struct worlds *w, uint32_t number)
{
    return number == 0 ? w->first : NULL;
}

void worlds_mark_told(struct worlds *w, uint32_t number)
{
    w->first->is_told = true;
}

uint32_t step_plan_universe(const struct step_plan *p, uint32_t nranks)
{
    return nranks;
}

/* ---- two of them ----------------------------------------------------------------------------- */

static void pass_on(void *arg, uint32_t step, enum frame_type type, const ProtobufCMessage *m)
{
    struct side *s = arg;
    uint8_t *bytes = malloc(protobuf_c_message_get_packed_size(m) + 1);
    size_t n = protobuf_c_message_pack(m, bytes);
    assert_in_range(step, 0, 1);
    assert_true(job_worlds_frame(&s->other->worlds, 1, type, bytes, n));
    free(bytes);
}

static void answer(void *arg, const Mprun__Collect *m, int status, const uint8_t *data, size_t n)
{
    struct side *s = arg;
    snprintf(s->answer, sizeof(s->answer), "%d turn %d: %.*s", status, (int)m->turn, (int)n,
             (const char *)data);
}

static struct side a, b;

static void begin(struct side *s, struct side *other, const char *nspace, uint32_t nranks)
{
    static char host[] = "n0";
    *s = (struct side){.other = other, .own.first = &s->world0, .host.table = &s->hosts};
    s->world0 = (struct world){.nranks = nranks, .ranks = &s->ranks, .apps = &s->app};
    strcpy(s->world0.nspace, nspace);
    rank_set_add_block(&s->ranks, 0, 0, nranks);
    s->placement.host = host;
    s->plan.nused = 1;
    s->plan.placements = &s->placement;
    s->hosts.plan = &s->plan;
    job_worlds_init(&s->worlds, &s->hosts, &s->own);
    job_worlds_on_send(&s->worlds, pass_on, s);
    job_worlds_on_answer(&s->worlds, answer, s);
}

/* s learns of the other's world. */
static void learn(struct side *s, const char *nspace)
{
    size_t n = 0;
    uint8_t *world = job_worlds_describe(&s->other->worlds, nspace, &n);
    if (world)
        job_worlds_learn(&s->worlds, 1, nspace, (ProtobufCBinaryData){n, world});
    free(world);
}

static int setup(void **state)
{
    begin(&a, &b, "nspace-a", 3);
    begin(&b, &a, "nspace-b", 2);
    learn(&a, "nspace-b");
    learn(&b, "nspace-a");
    return 0;
}

static int teardown(void **state)
{
    job_worlds_free(&a.worlds);
    job_worlds_free(&b.worlds);
    rank_set_free(&a.ranks);
    rank_set_free(&b.ranks);
    return 0;
}

/* All ranks of both, as the hosts of s number them, in their order. */
static void collect(struct side *s, uint64_t turn, const char *data)
{
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    uint8_t signature[17] = {'C'};
    put32(signature + 5, RANK_ALL);
    put32(signature + 9, s->foreign);
    put32(signature + 13, RANK_ALL);
    m.signature = (ProtobufCBinaryData){sizeof(signature), signature};
    m.turn = turn;
    job_worlds_collect(&s->worlds, &m, (const uint8_t *)data, strlen(data));
}

static void a_world_is_told_once_and_forgotten_when_it_has_ended(void **state)
{
    assert_string_equal(a.told, "world 80000001;");
    learn(&a, "nspace-b");
    learn(&a, "nspace-c");
    assert_string_equal(a.told, "world 80000001;");
    assert_string_equal(job_worlds_nspace(&a.worlds, 0), "nspace-a");
    b.world0.ended = b.world0.nranks;
    job_worlds_own_ended(&b.worlds, &b.world0);
    assert_string_equal(a.told, "world 80000001;end 80000001;");
    assert_false(job_worlds_step_gone(&a.worlds, 1));
    learn(&a, "nspace-b");
    assert_string_equal(a.told, "world 80000001;end 80000001;");
    assert_string_equal(job_worlds_nspace(&b.worlds, 0), "");
    assert_true(job_worlds_step_gone(&b.worlds, 1));
    assert_string_equal(b.told, "world 80000001;end 80000001;");
}

static void both_steps_get_the_parts_of_both_whoever_comes_first(void **state)
{
    collect(&a, 0, "A0");
    collect(&a, 1, "A1"); /* of some ranks that wait for nobody else */
    assert_string_equal(a.answer, "");
    collect(&b, 0, "B0");
    assert_string_equal(a.answer, "0 turn 0: A0B0");
    assert_string_equal(b.answer, "0 turn 0: B0A0");
    collect(&b, 1, "B1");
    assert_string_equal(a.answer, "0 turn 1: A1B1");
    assert_string_equal(b.answer, "0 turn 1: B1A1");
    assert_int_equal(a.worlds.bytes + b.worlds.bytes, 0);
}

static void a_collective_with_a_world_that_is_gone_comes_to_nothing(void **state)
{
    collect(&b, 0, "B0");
    assert_true(a.worlds.bytes > 0);
    assert_true(job_worlds_step_gone(&a.worlds, 1));
    assert_int_equal(a.worlds.bytes, 0);
    collect(&a, 0, "A0");
    assert_string_equal(a.answer, "-1 turn 0: ");
    a.world0.ended = a.world0.nranks;
    job_worlds_own_ended(&a.worlds, &a.world0);
    assert_null(b.worlds.meetings);
}

static void the_data_of_a_rank_goes_to_the_host_that_asks(void **state)
{
    Mprun__ModexRequest m = MPRUN__MODEX_REQUEST__INIT;
    Mprun__RankName name = MPRUN__RANK_NAME__INIT;
    m.id = 7;
    m.name = &name;
    assert_false(job_worlds_modex_request(&a.worlds, &m)); /* it is ours */
    name.world = a.foreign;
    name.rank = 1;
    assert_true(job_worlds_modex_request(&a.worlds, &m));
    assert_string_equal(a.answer, "7 0 data");
    name.world = a.foreign;
    name.rank = 2;
    m.id = 8;
    assert_true(job_worlds_modex_request(&a.worlds, &m));
    assert_string_equal(a.answer, "8 -1 ");
}

/* ---- a step that sends anything -------------------------------------------------------------- */

static bool send(enum frame_type type, const ProtobufCMessage *m)
{
    uint8_t *bytes = malloc(protobuf_c_message_get_packed_size(m) + 1);
    size_t n = protobuf_c_message_pack(m, bytes);
    bool is_taken = job_worlds_frame(&a.worlds, 1, type, bytes, n);
    free(bytes);
    return is_taken;
}

static void what_cannot_be_is_refused_and_parts_are_bounded(void **state)
{
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    Mprun__Collect__Part part = MPRUN__COLLECT__PART__INIT, *parts[] = {&part, &part};
    Mprun__ModexRequest request = MPRUN__MODEX_REQUEST__INIT;
    Mprun__WorldEnd end = MPRUN__WORLD_END__INIT;
    char *large = calloc(1, EARLY_PARTS_MAX / 2);
    assert_false(send(FRAME_COLLECT, &m.base));
    assert_false(send(FRAME_SPAWN, &m.base));
    assert_false(job_worlds_frame(&a.worlds, 1, FRAME_COLLECT, (const uint8_t *)"\xff\xff", 2));
    assert_false(job_worlds_frame(&a.worlds, 1, FRAME_WORLD_END, (const uint8_t *)"\xff\xff", 2));
    m.parts = parts;
    m.n_parts = 2;
    assert_false(send(FRAME_COLLECT, &m.base));
    m.n_parts = 1;
    assert_false(send(FRAME_COLLECT, &m.base)); /* of nobody */
    m.signature = (ProtobufCBinaryData){1, (uint8_t[]){'C'}};
    part.data = (ProtobufCBinaryData){EARLY_PARTS_MAX / 2, (uint8_t *)large};
    assert_true(send(FRAME_COLLECT, &m.base));
    assert_false(send(FRAME_COLLECT, &m.base));
    assert_true(send(FRAME_MODEX_REQUEST, &request.base)); /* of no rank: it is answered so */
    end.world = 77;
    assert_true(send(FRAME_WORLD_END, &end.base));
    assert_string_equal(a.told, "world 80000001;");
    free(large);
}

static void describe(const char *nspace, const char *as, uint32_t world, uint32_t nranks)
{
    Mprun__PmiWorld m = MPRUN__PMI_WORLD__INIT;
    uint8_t bytes[400];
    m.nspace = (char *)(uintptr_t)as;
    m.world = world;
    m.nranks = nranks;
    size_t n = mprun__pmi_world__pack(&m, bytes);
    job_worlds_learn(&a.worlds, 1, nspace, (ProtobufCBinaryData){n, bytes});
}

static void a_description_that_cannot_be_is_none(void **state)
{
    char name[100];
    describe("x", "y", 0, 1);                   /* another one's */
    describe("", "", 0, 1);                     /* nobody's */
    describe("nspace-a", "nspace-a", 0, 1);     /* ours */
    describe("x", "x", 0, 0);                   /* of no ranks */
    describe("x", "x", 0, UINT32_MAX);          /* of too many */
    describe("x", "x", WORLD_OF_OTHER_STEP, 1); /* itself of another step */
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    describe(name, name, 0, 1); /* with a long name */
    job_worlds_learn(&a.worlds, 1, "x", (ProtobufCBinaryData){2, (uint8_t *)"\xff\xff"});
    assert_string_equal(a.told, "world 80000001;");
    for (int i = 0; i < 2 * OTHER_WORLDS_MAX; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        describe(name, name, (uint32_t)i + 1, 1);
    }
    assert_int_equal(a.foreign, WORLD_OF_OTHER_STEP | OTHER_WORLDS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_world_is_told_once_and_forgotten_when_it_has_ended, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(both_steps_get_the_parts_of_both_whoever_comes_first, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_collective_with_a_world_that_is_gone_comes_to_nothing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_data_of_a_rank_goes_to_the_host_that_asks, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_refused_and_parts_are_bounded, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_description_that_cannot_be_is_none, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
