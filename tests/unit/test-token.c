/* SPDX-License-Identifier: BSD-3-Clause */
/* Grants: whole, changed in every bit, of another job, user, cell, host, key and time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "node-daemon/front/jobs/grants.h"
#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/signer/token.h"

#define NOW INT64_C(1795219657)

static const struct token_key key = {.set = 1, .bytes = {1, 2, 3}};
static const struct token grant = {
    .job = "23.1",
    .cell = "default",
    .uid = 1001,
    .demand = {.n = 1, .part = {{.what = DEMAND_MEMORY, .consumable = 1, .whole = 209715200}}},
};

static void sign(const struct token *t, char text[GRANT_TOKEN_MAX])
{
    struct error e;
    if (token_sign(&key, t, NOW, text, &e) < 0)
        fail_msg("%s", e.text);
}

static void a_grant_says_on_another_host_what_it_said(void **state)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char text[GRANT_TOKEN_MAX];
    struct token t;
    struct token of_host = grant;
    strcpy(of_host.host, "n7");
    of_host.slots = 12;
    sign(&of_host, text);
    assert_int_equal(strlen(text), GRANT_TOKEN_MAX - 1);
    assert_int_equal(strspn(text, letters), strlen(text)); /* it goes through qrsh's -v */
    assert_int_equal(token_open(&key, text, NOW, &t, NULL), 0);
    assert_string_equal(t.job, "23.1");
    assert_string_equal(t.cell, "default");
    assert_string_equal(t.host, "n7");
    assert_int_equal(t.slots, 12);
    assert_int_equal(t.uid, 1001);
    assert_int_equal(t.expires - t.issued, TOKEN_LIFE_S);
    assert_memory_equal(&t.demand.part, &grant.demand.part, sizeof(t.demand.part));
}

static void whose_it_is_not_it_is_not_for(void **state)
{
    struct token t = grant;
    assert_null(token_is_for(&t, "23.1", 1001, "default", "n1"));
    assert_non_null(token_is_for(&t, "23.2", 1001, "default", "n1"));
    assert_non_null(token_is_for(&t, "123.1", 1001, "default", "n1"));
    assert_non_null(token_is_for(&t, "23.1", 1002, "default", "n1"));
    assert_non_null(token_is_for(&t, "23.1", 1001, "other", "n1"));
    strcpy(t.host, "n1");
    assert_null(token_is_for(&t, "23.1", 1001, "default", "n1"));
    assert_null(token_is_for(&t, "23.1", 1001, "default", "N1.example.org"));
    assert_non_null(token_is_for(&t, "23.1", 1001, "default", "n10"));
    strcpy(t.host, "n1.a.org");
    assert_null(token_is_for(&t, "23.1", 1001, "default", "n1"));
    assert_non_null(token_is_for(&t, "23.1", 1001, "default", "n1.b.org"));
}

/* 2 slots of 200 MiB each, instead of the one that the execd wrote of. */
static void a_grant_gives_a_job_its_slots_and_limits_here(void **state)
{
    struct conf conf = {.ge_cell = "default"};
    struct evidence e = {.name = "23.1", .uid = 1001, .cores = 1, .share = {.slots = 1}};
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    struct token t = grant_token(&conf, "23.1", 1001, &grant.demand, host, 2);
    assert_string_equal(t.cell, "default");
    assert_int_equal(grant_apply(&t, "default", &e, NULL), 0);
    assert_int_equal(e.cores, 2);
    assert_int_equal(e.demand_known, 1);
    assert_int_equal(e.limits.memory.value, 2 * 209715200);
    t = grant_token(&conf, "23.1", 1001, &grant.demand, "", 0); /* for any host */
    e.share.slots = e.cores = 3;
    assert_int_equal(grant_apply(&t, "default", &e, NULL), 0);
    assert_int_equal(e.cores, 3);
    assert_int_equal(e.limits.memory.value, 3 * 209715200);
}

static void anothers_grant_changes_nothing(void **state)
{
    struct error err;
    struct token t = grant;
    struct evidence e = {.name = "23.1", .uid = 1002, .cores = 1, .share = {.slots = 1}}, was = e;
    t.slots = 12;
    assert_int_equal(grant_apply(&t, "default", &e, &err), -1);
    assert_string_equal(err.text, "the grant is of another user");
    assert_memory_equal(&e, &was, sizeof(e));
}

static void the_first_grant_of_an_environment_is_found(void **state)
{
    char text[GRANT_TOKEN_MAX + 1], large[2 * GRANT_TOKEN_MAX];
    assert_int_equal(ge_grant_find("A=1\nMPRUN_GRANT=x-_y\nMPRUN_GRANT=z\n", text), 0);
    assert_string_equal(text, "x-_y");
    assert_int_equal(ge_grant_find("MPRUN_GRANT=", text), 0);
    assert_string_equal(text, "");
    assert_int_equal(ge_grant_find("", text), -1);
    assert_int_equal(ge_grant_find("XMPRUN_GRANT=x\nA=MPRUN_GRANT=x\n", text), -1);
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = 0;
    memcpy(large, "MPRUN_GRANT=", 12);
    assert_int_equal(ge_grant_find(large, text), 0);
    assert_int_equal(strlen(text), GRANT_TOKEN_MAX); /* too long for the signer, too */
}

static void must_refuse(const struct token_key *k, const char *text, int64_t now, int code)
{
    struct token t = {.uid = 77};
    struct error e = {.text = ""};
    if (token_open(k, text, now, &t, &e) == 0)
        fail_msg("taken: %s", text);
    assert_int_equal(e.code, code);
    assert_true(e.text[0] != 0);
    assert_int_equal(t.uid, 77);
}

static void one_changed_letter_is_enough(void **state)
{
    char text[GRANT_TOKEN_MAX];
    sign(&grant, text);
    for (size_t i = 0; i < GRANT_TOKEN_MAX - 1; i++) {
        struct token t;
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        if (token_open(&key, text, NOW, &t, NULL) == 0)
            fail_msg("letter %zu", i);
        text[i] = was;
    }
}

static void garbage_is_none(void **state)
{
    char text[2 * GRANT_TOKEN_MAX], whole[GRANT_TOKEN_MAX];
    sign(&grant, whole);
    must_refuse(&key, "", NOW, EINVAL);
    must_refuse(&key, "abc", NOW, EINVAL);
    for (size_t n = 0; n < GRANT_TOKEN_MAX - 1; n++) {
        snprintf(text, sizeof(text), "%.*s", (int)n, whole);
        must_refuse(&key, text, NOW, EINVAL);
    }
    snprintf(text, sizeof(text), "%sA", whole);
    must_refuse(&key, text, NOW, EINVAL);
    snprintf(text, sizeof(text), "%s%s", whole, whole);
    must_refuse(&key, text, NOW, EINVAL);
    memset(text, 'A', GRANT_TOKEN_MAX - 1);
    text[GRANT_TOKEN_MAX - 1] = 0;
    must_refuse(&key, text, NOW, EBADMSG);
    memset(text, ' ', GRANT_TOKEN_MAX - 1);
    must_refuse(&key, text, NOW, EINVAL);
}

static void another_key_and_none_refuse(void **state)
{
    char text[GRANT_TOKEN_MAX];
    struct token_key other = key, none = {.set = 0};
    other.bytes[31] ^= 1;
    sign(&grant, text);
    must_refuse(&other, text, NOW, EBADMSG);
    must_refuse(&none, text, NOW, ENOKEY);
    assert_int_equal(token_sign(&none, &grant, NOW, text, NULL), -1);
}

static void its_time_is_bounded(void **state)
{
    char text[GRANT_TOKEN_MAX];
    struct token t;
    sign(&grant, text);
    assert_int_equal(token_open(&key, text, NOW + TOKEN_LIFE_S + TOKEN_SKEW_S, &t, NULL), 0);
    must_refuse(&key, text, NOW + TOKEN_LIFE_S + TOKEN_SKEW_S + 1, ETIME);
    assert_int_equal(token_open(&key, text, NOW - TOKEN_SKEW_S, &t, NULL), 0);
    must_refuse(&key, text, NOW - TOKEN_SKEW_S - 1, EINVAL);
    must_refuse(&key, text, 0, EINVAL);
}

static void a_key_is_made_once_and_is_roots_alone(void **state)
{
    char path[64] = "/tmp/test-token.XXXXXX", file[96], other[96];
    struct token_key a, b = {.set = 0};
    struct error e;
    struct stat st;
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof(file), "%s/key", path);
    assert_int_equal(token_key_make(file, &e), 0);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(token_key_make(file, &e), -1); /* never one that is in use */
    assert_int_equal(token_key_read(file, &a, &e), 0);
    assert_true(a.set);
    static const mode_t wrong[] = {0644, 0640, 0604, 0620, 0602, 0610};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(chmod(file, wrong[i]), 0);
        assert_int_equal(token_key_read(file, &b, &e), -1);
        assert_int_equal(e.code, EPERM);
    }
    assert_int_equal(chmod(file, 0400), 0);
    assert_int_equal(token_key_read(file, &b, &e), 0);
    assert_memory_equal(a.bytes, b.bytes, sizeof(a.bytes));
    snprintf(other, sizeof(other), "%s/other", path);
    assert_int_equal(rename(file, other), 0);
    assert_int_equal(symlink(other, file), 0);
    assert_int_equal(token_key_read(file, &b, &e), -1);
    assert_int_equal(unlink(file), 0);
    if (chown(other, 1001, (gid_t)-1) == 0) { /* as root can */
        assert_int_equal(token_key_read(other, &b, &e), -1);
        assert_int_equal(e.code, EPERM);
    }
    assert_int_equal(unlink(other), 0);
    static const mode_t open_to_others[] = {0770, 0720, 0702};
    for (size_t i = 0; i < sizeof(open_to_others) / sizeof(open_to_others[0]); i++) {
        assert_int_equal(chmod(path, open_to_others[i]), 0);
        assert_int_equal(token_key_make(file, &e), -1);
        assert_int_equal(e.code, EPERM);
    }
    assert_int_equal(chmod(path, 0755), 0);
    if (chown(path, 1001, (gid_t)-1) == 0) {
        assert_int_equal(token_key_make(file, &e), -1);
        assert_int_equal(e.code, EPERM);
    }
    assert_int_equal(rmdir(path), 0);
}

static void what_is_no_key_is_none(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "00",
        "zz0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20\n",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n\n"};
    char path[64] = "/tmp/test-token.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct token_key k = {.set = 0};
        struct error e;
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, texts[i], strlen(texts[i]), 0), strlen(texts[i]));
        assert_int_equal(token_key_read(path, &k, &e), -1);
        assert_int_equal(e.code, EINVAL);
        assert_false(k.set);
    }
    close(fd);
    unlink(path);
}

static void hosts_with_several_queues_are_found(void **state)
{
    size_t n;
    struct ge_host *h = ge_hosts_of_several("n2 2 lab.q@n2 UNDEFINED\nn10 1 lab.q@n10 UNDEFINED\n"
                                            "n1 4 a.q@n1 0,0\nn2 1 lab2.q@n2 UNDEFINED\n"
                                            "n1 1 b.q@n1 0,1\nn1 1 c.q@n1 0,2\n",
                                            &n);
    assert_non_null(h);
    assert_int_equal(n, 2);
    assert_string_equal(h[0].name, "n1");
    assert_int_equal(h[0].slots, 6);
    assert_string_equal(h[1].name, "n2");
    assert_int_equal(h[1].slots, 3);
    free(h);
    h = ge_hosts_of_several("n1 4 a.q@n1 UNDEFINED", &n);
    assert_non_null(h);
    assert_int_equal(n, 0);
    free(h);
    static const char *const wrong[] = {"n1", "n1 \n2", "n1 x", " 1 q", "n1 0 q", "n1 12345678 q"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if ((h = ge_hosts_of_several(wrong[i], &n)))
            fail_msg("taken: '%s'", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_says_on_another_host_what_it_said),
        cmocka_unit_test(whose_it_is_not_it_is_not_for),
        cmocka_unit_test(a_grant_gives_a_job_its_slots_and_limits_here),
        cmocka_unit_test(anothers_grant_changes_nothing),
        cmocka_unit_test(the_first_grant_of_an_environment_is_found),
        cmocka_unit_test(one_changed_letter_is_enough),
        cmocka_unit_test(garbage_is_none),
        cmocka_unit_test(another_key_and_none_refuse),
        cmocka_unit_test(its_time_is_bounded),
        cmocka_unit_test(a_key_is_made_once_and_is_roots_alone),
        cmocka_unit_test(what_is_no_key_is_none),
        cmocka_unit_test(hosts_with_several_queues_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
