/* SPDX-License-Identifier: BSD-3-Clause */
/* test-gather.c - parts of collectives come together once, in the order of hosts, whatever the
 * order in which they come; what cannot be is refused and changes nothing */
#include "wire/tree/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/tunables.h"

enum { HOSTS = 6 };

struct world {
    struct gather_rules rules;
    struct gather *gather;
    uint32_t low, high; /* hosts that come by here */
    int completed;
    char text[200]; /* of the last one: "host:data ..." */
};

static int awaited(void *arg, uint32_t host)
{
    const struct world *w = arg;
    return host >= w->low && host <= w->high;
}

static void complete(void *arg, const Mprun__Collect *m)
{
    struct world *w = arg;
    size_t at =
        (size_t)snprintf(w->text, sizeof(w->text), "%d/%d", m->signature.data[0], (int)m->turn);
    for (size_t i = 0; i < m->n_parts; i++)
        at += (size_t)snprintf(w->text + at, sizeof(w->text) - at, " %u:%.*s", m->parts[i]->host,
                               (int)m->parts[i]->data.len, (char *)m->parts[i]->data.data);
    w->completed++;
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    w->high = HOSTS - 1;
    w->rules = (struct gather_rules){HOSTS, awaited, complete};
    w->gather = gather_create(&w->rules, w);
    *state = w;
    return w->gather ? 0 : -1;
}

static int teardown(void **state)
{
    struct world *w = *state;
    gather_destroy(w->gather);
    free(w);
    return 0;
}

/* Parts of these hosts, whose data is their letter; hosts: who takes part, "" for all. */
static int bring(struct world *w, int signature, uint64_t turn, const char *hosts,
                 const char *parts, struct error *err)
{
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    Mprun__Collect__Part part[HOSTS + 1], *pointers[HOSTS + 1];
    uint8_t byte = (uint8_t)signature, data[HOSTS + 1], packed[400];
    uint32_t list[20];
    m.signature = (ProtobufCBinaryData){1, &byte};
    m.turn = turn;
    m.hosts = list;
    m.parts = pointers;
    for (; *hosts; hosts++)
        list[m.n_hosts++] = (uint32_t)(*hosts - '0');
    for (; *parts; parts++) {
        mprun__collect__part__init(&part[m.n_parts]);
        part[m.n_parts].host = (uint32_t)(*parts - '0');
        data[m.n_parts] = (uint8_t)('a' + *parts - '0');
        part[m.n_parts].data = (ProtobufCBinaryData){1, &data[m.n_parts]};
        pointers[m.n_parts] = &part[m.n_parts];
        m.n_parts++;
    }
    size_t n = mprun__collect__pack(&m, packed);
    return gather_add(w->gather, packed, n, err);
}

static void brings(struct world *w, int signature, uint64_t turn, const char *hosts,
                   const char *parts)
{
    struct error e = {.text = ""};
    if (bring(w, signature, turn, hosts, parts, &e) < 0)
        fail_msg("%s", e.text);
}

static void refused(struct world *w, int signature, const char *hosts, const char *parts,
                    const char *word)
{
    struct error e = {.text = ""};
    assert_int_equal(bring(w, signature, 0, hosts, parts, &e), -1);
    if (!strstr(e.text, word))
        fail_msg("'%s' does not say '%s'", e.text, word);
}

static void parts_come_in_any_order(void **state)
{
    struct world *w = *state;
    brings(w, 1, 0, "", "35");
    brings(w, 1, 0, "", "0");
    brings(w, 1, 0, "", "4");
    assert_int_equal(w->completed, 0);
    brings(w, 1, 0, "", "12");
    assert_int_equal(w->completed, 1);
    assert_string_equal(w->text, "1/0 0:a 1:b 2:c 3:d 4:e 5:f");
}

static void some_hosts_only(void **state)
{
    struct world *w = *state;
    brings(w, 1, 0, "135", "5");
    brings(w, 1, 0, "135", "13");
    assert_string_equal(w->text, "1/0 1:b 3:d 5:f");
}

static void turns_signatures_and_hosts_are_kept_apart(void **state)
{
    struct world *w = *state;
    brings(w, 1, 0, "01", "0");
    brings(w, 1, 1, "01", "0");
    brings(w, 2, 0, "01", "0");
    brings(w, 1, 0, "02", "0");
    brings(w, 1, 1, "01", "1");
    assert_string_equal(w->text, "1/1 0:a 1:b");
    brings(w, 2, 0, "01", "1");
    assert_string_equal(w->text, "2/0 0:a 1:b");
    brings(w, 1, 0, "02", "2");
    assert_string_equal(w->text, "1/0 0:a 2:c");
    brings(w, 1, 0, "01", "1");
    assert_string_equal(w->text, "1/0 0:a 1:b");
    assert_int_equal(w->completed, 4);
}

static void a_starter_waits_for_its_own_and_those_below(void **state)
{
    struct world *w = *state;
    w->low = 2;
    w->high = 4;
    brings(w, 1, 0, "", "34");
    assert_int_equal(w->completed, 0);
    brings(w, 1, 0, "", "2");
    assert_string_equal(w->text, "1/0 2:c 3:d 4:e");
    brings(w, 1, 1, "125", "2");
    assert_string_equal(w->text, "1/1 2:c");
    refused(w, 3, "", "5", "has none");
}

static void what_cannot_be_is_refused(void **state)
{
    struct world *w = *state;
    struct error e;
    uint8_t garbage[] = {0xff, 0xff, 0xff};
    assert_int_equal(gather_add(w->gather, garbage, sizeof(garbage), &e), -1);
    refused(w, 1, "", "", "impossible number");
    refused(w, 1, "0123450", "0", "impossible number");
    refused(w, 1, "10", "0", "not in order");
    refused(w, 1, "11", "1", "not in order");
    refused(w, 1, "07", "0", "not in order");
    refused(w, 1, "01", "2", "has none");
    refused(w, 1, "", "7", "has none");
    refused(w, 1, "", "10", "has none");
    brings(w, 1, 0, "", "01");
    refused(w, 1, "", "12", "two parts");
    brings(w, 1, 0, "", "2345");
    assert_string_equal(w->text, "1/0 0:a 1:b 2:c 3:d 4:e 5:f");
}

static void there_is_an_end_to_what_may_wait(void **state)
{
    struct world *w = *state;
    struct error e;
    for (uint64_t turn = 0; turn < GATHER_MAX; turn++)
        brings(w, 1, turn, "", "0");
    assert_int_equal(bring(w, 1, GATHER_MAX, "", "0", &e), -1);
    brings(w, 1, 7, "", "12345");
    assert_string_equal(w->text, "1/7 0:a 1:b 2:c 3:d 4:e 5:f");
    brings(w, 1, GATHER_MAX, "", "0");
}

/* A part of host 0 for a collective of two worlds. */
static int begin(struct world *w, uint8_t first, uint8_t second, struct error *err)
{
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    Mprun__Collect__Part part = MPRUN__COLLECT__PART__INIT, *parts[] = {&part};
    uint8_t signature[17] = {'F', [1] = first, [9] = second}, packed[100];
    m.signature = (ProtobufCBinaryData){sizeof(signature), signature};
    m.n_parts = 1;
    m.parts = parts;
    return gather_add(w->gather, packed, mprun__collect__pack(&m, packed), err);
}

static void what_worlds_that_have_ended_left_behind_takes_no_room(void **state)
{
    struct world *w = *state;
    struct error e;
    assert_int_equal(begin(w, 1, 2, &e), 0);
    assert_int_equal(begin(w, 1, 3, &e), 0);
    assert_int_equal(begin(w, 1, 2, &e), -1); /* it is there */
    gather_forget(w->gather, 2);
    assert_int_equal(begin(w, 1, 3, &e), -1); /* another one stays */
    for (int i = 0; i < GATHER_MAX + 10; i++) {
        assert_int_equal(begin(w, 0, 2, &e), 0);
        gather_forget(w->gather, 2);
    }
    assert_int_equal(w->completed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_come_in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(some_hosts_only, setup, teardown),
        cmocka_unit_test_setup_teardown(turns_signatures_and_hosts_are_kept_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_starter_waits_for_its_own_and_those_below, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_an_end_to_what_may_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(what_worlds_that_have_ended_left_behind_takes_no_room,
                                        setup, teardown),
    };
    return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
