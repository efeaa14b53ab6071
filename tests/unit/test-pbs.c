/* SPDX-License-Identifier: BSD-3-Clause */
/* test-pbs.c - when a job of PBS is recognized, what it was granted, and the bytes of its protocol
 *
 * The bytes are those that a real pbs_mom of OpenPBS 23.06 was seen to take and to give. */
#include "rm-adapters/adapter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rm-adapters/pbs/dis.h"
#include "rm-adapters/pbs/pbs-private.h"
#include "rm-adapters/pbs/tm-message.h"

static char file[] = "/tmp/test-pbs.XXXXXX";

static int make_file(void **state)
{
    int fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    return unlink(file);
}

static int no_job(void **state)
{
    static const char *const names[] = {"PBS_JOBID",   "PBS_JOBCOOKIE", "PBS_TASKNUM",
                                        "PBS_MOMPORT", "PBS_NODEFILE",  "PBS_VERSION",
                                        "PBS_NUM_PPN"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    return 0;
}

static void job(const char *task)
{
    setenv("PBS_JOBID", "2.pbslab-n0", 1);
    setenv("PBS_JOBCOOKIE", "44843D8422AE25D22EDE1A7426018264", 1);
    setenv("PBS_MOMPORT", "15003", 1);
    setenv("PBS_TASKNUM", task, 1);
    setenv("PBS_NODEFILE", file, 1);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* ---- the job --------------------------------------------------------------------------------- */

static const struct host_request nothing;

static void stray_variables_make_no_job(void **state)
{
    char reason[200] = "x";
    assert_false(rm_adapter_pbs.detect(&nothing, reason, sizeof(reason)));
    assert_string_equal(reason, "");
    setenv("PBS_JOBID", "2", 1);
    assert_false(rm_adapter_pbs.detect(&nothing, reason, sizeof(reason)));
    assert_string_equal(reason, "PBS_JOBCOOKIE is not set as in a job of PBS or Torque");
    job("1");
    setenv("PBS_MOMPORT", "0", 1);
    assert_false(rm_adapter_pbs.detect(&nothing, reason, sizeof(reason)));
    job("x1");
    assert_false(rm_adapter_pbs.detect(&nothing, reason, sizeof(reason)));
    assert_non_null(strstr(reason, "PBS_TASKNUM is 'x1'"));
    job("1");
    unsetenv("PBS_NODEFILE");
    assert_false(rm_adapter_pbs.detect(&nothing, reason, sizeof(reason)));
    assert_string_equal(reason, "PBS_NODEFILE is not set as in a job of PBS or Torque");
    job("1");
    assert_true(rm_adapter_pbs.detect(&nothing, reason, sizeof(reason)));
    assert_ptr_equal(rm_adapter_detect(&nothing, reason, sizeof(reason)), &rm_adapter_pbs);
}

static void a_task_has_a_number(void **state)
{
    struct tm_job j;
    struct error e;
    job("20000001");
    assert_int_equal(tm_job_read(&j, &e), 0);
    assert_int_equal(j.task, 0x20000001);
    assert_true(j.is_framed && !j.is_torque);
    setenv("PBS_VERSION", "TORQUE-6.1.3", 1);
    assert_int_equal(tm_job_read(&j, &e), 0);
    assert_int_equal(j.task, 20000001);
    assert_true(!j.is_framed && j.is_torque);
}

static void lines_are_slots_and_their_numbers_are_nodes(void **state)
{
    struct allocation a = {0};
    struct error e;
    job("1");
    write_file("n1\nn1\n\nn2.x\nn1\nn3\n");
    assert_int_equal(rm_adapter_pbs.read_allocation(&nothing, &a, &e), 0);
    assert_int_equal(a.nhosts, 3);
    static const struct {
        const char *name;
        uint32_t slots, node;
    } expected[] = {{"n1", 3, 0}, {"n2.x", 1, 2}, {"n3", 1, 4}};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(a.hosts[i].name, expected[i].name);
        assert_int_equal(a.hosts[i].slots.value, expected[i].slots);
        assert_int_equal(a.hosts[i].manager_number, expected[i].node);
    }
    allocation_free(&a);
    static const char *const lists[] = {"n3"};
    const struct host_request chosen = {.lists = lists, .nlists = 1};
    assert_int_equal(rm_adapter_pbs.read_allocation(&chosen, &a, &e), 0);
    assert_int_equal(a.nhosts, 1);
    assert_int_equal(a.hosts[0].manager_number, 4);
    allocation_free(&a);
    uint32_t nodes;
    setenv("PBS_NODENUM", "2", 1);
    assert_int_equal(pbs_own_node(&nodes), 4);
    assert_int_equal(nodes, 5);
    setenv("PBS_NODENUM", "3", 1); /* there is none */
    assert_int_equal(pbs_own_node(&nodes), 0);
    unsetenv("PBS_NODENUM");
    write_file("\n");
    assert_int_equal(rm_adapter_pbs.read_allocation(&nothing, &a, &e), -1);
    assert_non_null(strstr(e.text, "names no host"));
    /* a hole, where another host has not written yet */
    write_file("n1\nn2\n");
    assert_int_equal(truncate(file, 5), 0);
    assert_int_equal(truncate(file, 9), 0);
    assert_int_equal(rm_adapter_pbs.read_allocation(&nothing, &a, &e), -1);
    assert_non_null(strstr(e.text, "is no text: it has a NUL byte"));
}

/* ---- the protocol ---------------------------------------------------------------------------- */

static void number_is(int64_t value, const char *bytes)
{
    struct buffer b = {.data = NULL};
    int64_t back = 0;
    size_t n = strlen(bytes);
    dis_put_number(&b, value);
    assert_int_equal(buffer_len(&b), n);
    assert_memory_equal(buffer_ptr(&b), bytes, n);
    assert_int_equal(dis_get_number(buffer_ptr(&b), n, &back), n);
    assert_true(back == value);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(dis_get_number(buffer_ptr(&b), i, &back), 0);
    buffer_free(&b);
}

static void numbers(void **state)
{
    static const char *const wrong[] = {"x",    "0",     "0+5", "2+05",
                                        "2+4x", "299+1", "+x",  "219+99999999999999999999"};
    int64_t value;
    number_is(0, "+0");
    number_is(5, "+5");
    number_is(-1, "-1");
    number_is(42, "2+42");
    number_is(1024, "4+1024");
    number_is(536870913, "9+536870913");
    number_is(1073741825, "210+1073741825");
    number_is(INT64_MAX, "219+9223372036854775807");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (dis_get_number((const uint8_t *)wrong[i], strlen(wrong[i]), &value) != -1)
            fail_msg("'%s' is a number", wrong[i]);
    static const char *const no_bytes[] = {"-1x", "+9xxx"};
    const uint8_t *bytes;
    size_t n;
    for (size_t i = 0; i < sizeof(no_bytes) / sizeof(no_bytes[0]); i++)
        assert_int_equal(
            dis_get_bytes((const uint8_t *)no_bytes[i], strlen(no_bytes[i]), 8, &bytes, &n), -1);
}

static void request_is(struct buffer *b, const char *payload)
{
    size_t n = strlen(payload);
    const uint8_t *p = buffer_ptr(b);
    assert_int_equal(buffer_len(b), 11 + n);
    assert_memory_equal(p, "PKTV1\0\0\0\0\0", 10);
    assert_int_equal(p[10], n);
    assert_memory_equal(p + 11, payload, n);
    buffer_free(b);
}

#define HEAD "+2+22+112.pbslab-n02+3244843D8422AE25D22EDE1A7426018264"

static void requests(void **state)
{
    static const char *const environment[] = {"A=b c", NULL};
    struct buffer b = {.data = NULL};
    struct tm_job j;
    struct error e;
    job("1");
    assert_int_equal(tm_job_read(&j, &e), 0);
    tm_request_begin(&b, &j, tm_event(0, TM_INIT));
    assert_int_equal(tm_request_finish(&b, &j, &e), 0);
    request_is(&b, HEAD "3+100+8+1");
    assert_int_equal(tm_request_spawn(&b, &j, tm_event(1, TM_SPAWN), 2, "/bin/x", environment, &e),
                     0);
    request_is(&b, HEAD "3+1022+17+1+2+1+6/bin/x+5A=b c+0");
    assert_int_equal(tm_request_task(&b, &j, tm_event(0, TM_OBIT), 2, 536870913, 0, &e), 0);
    request_is(&b, HEAD "3+1042+10+1+29+536870913");
    assert_int_equal(tm_request_task(&b, &j, tm_event(0, TM_SIGNAL), 2, 536870913, 15, &e), 0);
    request_is(&b, HEAD "3+1032+11+1+29+5368709132+15");
    assert_int_equal(tm_request_post(&b, &j, tm_event(0, TM_POSTINFO), "n", "a\nb", 3, &e), 0);
    request_is(&b, HEAD "3+1062+12+1+1n+3a\nb");
    assert_int_equal(tm_request_get(&b, &j, tm_event(0, TM_GETINFO), 0, 1, "n", &e), 0);
    request_is(&b, HEAD "3+1072+13+1+0+1+1n");
    assert_int_equal(tm_request_attach(&b, &j, tm_event(0, TM_ATTACH), 1002, 1029, &e), 0);
    request_is(&b, "+2+22+112.pbslab-n0+03+1132+14+04+10024+1029");
    j.is_torque = true;
    j.is_framed = false;
    assert_int_equal(tm_request_get(&b, &j, tm_event(0, TM_GETINFO), 0, 1, "n", &e), 0);
    assert_memory_equal(buffer_ptr(&b), "+5+22+11", 8);
    buffer_free(&b);
    static const char long_data[TM_REQUEST_MAX];
    assert_int_equal(
        tm_request_post(&b, &j, tm_event(0, TM_POSTINFO), "n", long_data, sizeof(long_data), &e),
        -1);
    buffer_free(&b);
}

/* An answer in pieces of any size. */
static void answer(const char *text, bool is_framed, struct tm_answer *ret, struct buffer *kept)
{
    struct tm_job j = {.is_framed = is_framed};
    struct buffer raw = {.data = NULL};
    struct error e;
    uint8_t header[11] = "PKTV1";
    size_t n = strlen(text);
    header[10] = (uint8_t)n;
    header[6] = 114;
    ssize_t used = 0;
    for (size_t i = 0; i < n + (is_framed ? 11 : 0); i++) {
        const void *byte =
            is_framed && i < 11 ? (const void *)&header[i] : text + (is_framed ? i - 11 : i);
        assert_int_equal(used, 0);
        buffer_append(&raw, byte, 1);
        assert_int_equal(tm_unpack(&raw, kept, &j, &e), 0);
        used = tm_answer_read(kept, ret, &e);
    }
    assert_int_equal(used, n);
    buffer_free(&raw);
}

static void answers(void **state)
{
    struct buffer kept = {.data = NULL};
    struct tm_answer a;
    struct error e;
    for (int framed = 0; framed < 2; framed++) {
        answer("+2+2+0+8+6+0+1+2+3+4+52+112.pbslab-n0-1+0", framed, &a, &kept);
        assert_int_equal(tm_event_kind(a.event), TM_INIT);
        assert_int_equal(a.value, 6);
        buffer_free(&kept);
        answer("+2+2+02+179+536870913", framed, &a, &kept);
        assert_int_equal(tm_event_kind(a.event), TM_SPAWN);
        assert_int_equal(tm_event_object(a.event), 1);
        assert_int_equal(a.value, 0x20000001);
        buffer_free(&kept);
        answer("+2+23+9992+175+17006", framed, &a, &kept);
        assert_int_equal(a.error, 17006);
        assert_string_equal(tm_error_text(a.error), "not found");
        buffer_free(&kept);
        answer("+2+2+02+13+3a\nb", framed, &a, &kept);
        assert_int_equal(a.n, 3);
        assert_memory_equal(a.data, "a\nb", 3);
        buffer_free(&kept);
    }
    /* where a task on the own host cannot be started */
    answer("+2+25+170002+17+7", false, &a, &kept);
    assert_int_equal(a.error, 17000);
    buffer_free(&kept);
    buffer_append(&kept, "GET / HTTP", 10);
    assert_int_equal(tm_answer_read(&kept, &a, &e), -1);
    buffer_free(&kept);
    assert_int_equal(tm_wait_status(4), W_EXITCODE(4, 0));
    assert_int_equal(tm_wait_status(265), W_EXITCODE(0, 9));
    assert_int_equal(tm_wait_status(254), W_EXITCODE(254, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(stray_variables_make_no_job, no_job),
        cmocka_unit_test_setup(a_task_has_a_number, no_job),
        cmocka_unit_test_setup(lines_are_slots_and_their_numbers_are_nodes, no_job),
        cmocka_unit_test(numbers),
        cmocka_unit_test_setup(requests, no_job),
        cmocka_unit_test(answers),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
