/* SPDX-License-Identifier: BSD-3-Clause */
/* The real mprund-signer, asked by front's side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node-daemon/front/jobs/grants.h"
#include "node-daemon/front/links/ask-signer.h"
#include "node-daemon/lib/signer-protocol.h"
#include "part-fixture.h"

static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
static const char other_key[] =
    "10112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
static const struct token grant = {
    .job = "23.1",
    .cell = "default",
    .host = "n7",
    .slots = 12,
    .uid = 1001,
    .demand = {.n = 1, .part = {{.what = DEMAND_MEMORY, .consumable = 1, .whole = 209715200}}},
};

static struct start front;
static int supervisor; /* of front's */

static void start(const char *text, struct part *ret)
{
    part_start("mprund-signer", ret);
    if (text)
        part_give(ret, GIFT_KEY, 0, part_text(text, 0600));
    part_is_ready(ret);
    front.link[ROLE_SIGNER] = ret->link;
}

static void end(struct part *p)
{
    front.link[ROLE_SIGNER] = -1;
    part_end(p);
}

static void what_was_signed_is_opened_and_says_the_same(void **state)
{
    struct part p;
    struct error e;
    struct token t;
    char text[GRANT_TOKEN_MAX];
    start(key, &p);
    assert_int_equal(signer_sign(&front, &grant, text, &e), 0);
    assert_int_equal(strlen(text), GRANT_TOKEN_MAX - 1);
    assert_int_equal(signer_open(&front, text, &t, &e), 0);
    assert_string_equal(t.job, "23.1");
    assert_string_equal(t.host, "n7");
    assert_int_equal(t.slots, 12);
    assert_int_equal(t.uid, 1001);
    assert_memory_equal(&t.demand, &grant.demand, sizeof(t.demand));
    text[17] = text[17] == 'A' ? 'B' : 'A';
    assert_int_equal(signer_open(&front, text, &t, &e), -1);
    assert_int_equal(e.code, EBADMSG);
    assert_int_equal(signer_open(&front, "", &t, &e), -1);
    assert_int_equal(e.code, EINVAL);
    end(&p);
}

static void another_key_opens_nothing_and_none_signs_nothing(void **state)
{
    struct part p;
    struct error e;
    struct token t;
    char text[GRANT_TOKEN_MAX];
    start(key, &p);
    assert_int_equal(signer_sign(&front, &grant, text, &e), 0);
    end(&p);
    start(other_key, &p);
    assert_int_equal(signer_open(&front, text, &t, &e), -1);
    assert_int_equal(e.code, EBADMSG);
    end(&p);
    start(NULL, &p);
    assert_int_equal(signer_sign(&front, &grant, text, &e), -1);
    assert_int_equal(e.code, ENOKEY);
    assert_int_equal(signer_open(&front, text, &t, &e), -1);
    assert_int_equal(e.code, ENOKEY);
    end(&p);
}

static void a_key_that_others_can_read_is_not_taken(void **state)
{
    struct part p;
    part_start("mprund-signer", &p);
    part_give(&p, GIFT_KEY, 0, part_text(key, 0644));
    part_give_all(&p);
    assert_int_equal(part_wait(&p), 1);
}

/* The supervisor's gift is there before front notices that the signer has died. */
static void the_next_signer_is_asked_when_one_has_died(void **state)
{
    struct part p, next;
    struct part control = {.control = supervisor};
    struct error e;
    struct token t;
    char text[GRANT_TOKEN_MAX];
    start(key, &p);
    assert_int_equal(signer_sign(&front, &grant, text, &e), 0);
    assert_int_equal(kill(p.pid, SIGKILL), 0);
    p.link = -1; /* front's own: it closes it when it has another one */
    assert_int_equal(part_wait(&p), -SIGKILL);
    part_start("mprund-signer", &next);
    part_give(&next, GIFT_KEY, 0, part_text(key, 0600));
    part_is_ready(&next);
    part_give(&control, GIFT_LINK, ROLE_SIGNER, next.link);
    next.link = -1;
    assert_int_equal(signer_open(&front, text, &t, &e), 0);
    assert_string_equal(t.job, "23.1");
    /* none at all */
    assert_int_equal(kill(next.pid, SIGKILL), 0);
    assert_int_equal(part_wait(&next), -SIGKILL);
    assert_int_equal(signer_open(&front, text, &t, &e), -1);
    assert_int_equal(e.code, EPIPE);
    close(front.link[ROLE_SIGNER]);
    front.link[ROLE_SIGNER] = -1;
}

static void another_front_is_answered_as_the_first(void **state)
{
    struct part p;
    struct error e;
    struct token t;
    char text[GRANT_TOKEN_MAX];
    start(key, &p);
    assert_int_equal(signer_sign(&front, &grant, text, &e), 0);
    close(p.link);
    p.link = front.link[ROLE_SIGNER] = part_link_again(&p);
    assert_int_equal(signer_open(&front, text, &t, &e), 0);
    end(&p);
}

static void malformed_records_end_it(void **state)
{
    struct part p;
    struct signer_record q;
    for (int i = 0; i < 6; i++) {
        memset(&q, 0, sizeof(q));
        q.head = record_head(i == 5 ? SIGNER_OPEN + 1 : SIGNER_SIGN, 1);
        q.head.magic += i == 1;
        q.token.demand.n = i == 2 ? DEMAND_PARTS + 1 : 0;
        memset(q.token.host, 'x', i == 3 ? sizeof(q.token.host) : 0);
        memset(q.text, 'x', i == 4 ? sizeof(q.text) : 0);
        start(key, &p);
        assert_int_equal(record_send(p.link, &q, sizeof(q) - (i == 0), -1), 0);
        assert_int_equal(part_wait(&p), 1);
    }
    front.link[ROLE_SIGNER] = -1;
}

/* It wipes the key, so it ends by itself. */
static void a_sigterm_ends_it_in_order(void **state)
{
    struct part p;
    start(key, &p);
    assert_int_equal(kill(p.pid, SIGTERM), 0);
    assert_int_equal(part_wait(&p), 0);
    front.link[ROLE_SIGNER] = -1;
}

/* The key is in its memory. */
static void no_process_of_its_user_looks_into_it(void **state)
{
    struct part p;
    start(key, &p);
    assert_false(part_can_be_looked_into(&p));
    end(&p);
}

static int set_up(void **state)
{
    supervisor = part_become_front(&front);
    return part_be_ordinary(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_signed_is_opened_and_says_the_same),
        cmocka_unit_test(another_key_opens_nothing_and_none_signs_nothing),
        cmocka_unit_test(a_key_that_others_can_read_is_not_taken),
        cmocka_unit_test(the_next_signer_is_asked_when_one_has_died),
        cmocka_unit_test(another_front_is_answered_as_the_first),
        cmocka_unit_test(malformed_records_end_it),
        cmocka_unit_test(a_sigterm_ends_it_in_order),
        cmocka_unit_test(no_process_of_its_user_looks_into_it),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
