/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of processes and of files: whole messages are read, others are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/inotify.h>

#include "node-daemon/watch/proc-events.h"
#include "node-daemon/reader/spool-watch.h"

/* ---- process events -------------------------------------------------------------------------- */

struct message { /* its parts; the order of the bytes is put()'s */
    struct nlmsghdr head;
    struct proc_event e;
    struct cn_msg cn;
};
enum { WHOLE = sizeof(struct nlmsghdr) + sizeof(struct cn_msg) + sizeof(struct proc_event) };

static void put_message(const struct message *m, char *to)
{
    memcpy(to, &m->head, sizeof(m->head));
    memcpy(to + sizeof(m->head), &m->cn, sizeof(m->cn));
    memcpy(to + sizeof(m->head) + sizeof(m->cn), &m->e, sizeof(m->e));
}

static struct message exec_of(int pid, int tgid)
{
    struct message m;
    memset(&m, 0, sizeof(m));
    m.head.nlmsg_len = WHOLE;
    m.head.nlmsg_type = NLMSG_DONE;
    m.cn.id.idx = CN_IDX_PROC;
    m.cn.id.val = CN_VAL_PROC;
    m.cn.len = sizeof(m.e);
    m.e.what = PROC_EVENT_EXEC;
    m.e.event_data.exec.process_pid = pid;
    m.e.event_data.exec.process_tgid = tgid;
    return m;
}

static struct proc_event_seen only(const struct message *m, size_t n)
{
    char bytes[WHOLE];
    size_t at = 0;
    struct proc_event_seen e = {.kind = PROC_OTHER, .pid = -7};
    put_message(m, bytes);
    if (!proc_event_next(bytes, n, &at, &e))
        e.pid = -1;
    else
        assert_true(at > 0 && at <= n);
    return e;
}

static void an_exec_is_told_with_its_process_and_not_its_thread(void **state)
{
    struct message m = exec_of(4712, 4711);
    struct proc_event_seen e = only(&m, WHOLE);
    assert_int_equal(e.kind, PROC_EXEC);
    assert_int_equal(e.pid, 4711);
}

static void the_kernels_answer_has_its_error(void **state)
{
    struct message m = exec_of(0, 0);
    m.e.what = PROC_EVENT_NONE;
    m.e.event_data.ack.err = EPERM;
    struct proc_event_seen e = only(&m, WHOLE);
    assert_int_equal(e.kind, PROC_ANSWER);
    assert_int_equal(e.error, EPERM);
}

static void other_events_and_other_senders_are_nothing(void **state)
{
    struct message m = exec_of(4711, 4711);
    m.e.what = PROC_EVENT_FORK;
    assert_int_equal(only(&m, WHOLE).kind, PROC_OTHER);
    m = exec_of(4711, 4711);
    m.cn.id.idx = CN_IDX_PROC + 1;
    assert_int_equal(only(&m, WHOLE).kind, PROC_OTHER);
    m = exec_of(4711, 4711);
    m.cn.id.val = CN_VAL_PROC + 1;
    assert_int_equal(only(&m, WHOLE).kind, PROC_OTHER);
}

static void a_number_that_no_process_has_is_nothing(void **state)
{
    for (int pid = -1; pid <= 0; pid++) {
        struct message m = exec_of(pid, pid);
        assert_int_equal(only(&m, WHOLE).kind, PROC_OTHER);
    }
}

static void a_message_that_is_cut_off_is_none(void **state)
{
    struct message m = exec_of(4711, 4711);
    for (size_t n = 0; n < WHOLE; n++)
        assert_int_equal(only(&m, n).pid, -1);
    m.head.nlmsg_len = sizeof(m.head) - 1;
    assert_int_equal(only(&m, WHOLE).pid, -1);
    m.head.nlmsg_len = UINT32_MAX;
    assert_int_equal(only(&m, WHOLE).pid, -1);
}

static void a_message_whose_inner_lengths_lie_is_nothing(void **state)
{
    struct message m = exec_of(4711, 4711);
    m.cn.len = sizeof(m.e) + 1;
    assert_int_equal(only(&m, WHOLE).kind, PROC_OTHER);
    m.cn.len = offsetof(struct proc_event, event_data) + 4;
    assert_int_equal(only(&m, WHOLE).kind, PROC_OTHER);
    m.cn.len = 0;
    assert_int_equal(only(&m, WHOLE).kind, PROC_OTHER);
    m = exec_of(4711, 4711);
    m.head.nlmsg_len = sizeof(m.head) + 3;
    assert_int_equal(only(&m, WHOLE).kind, PROC_OTHER);
}

static void several_messages_in_one_datagram_are_all_read(void **state)
{
    char bytes[3 * WHOLE];
    struct proc_event_seen e;
    size_t at = 0;
    _Static_assert(WHOLE % NLMSG_ALIGNTO == 0, "as the kernel aligns them");
    for (int i = 0; i < 3; i++) {
        struct message m = exec_of(i + 1, 11 + i);
        put_message(&m, bytes + i * WHOLE);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(proc_event_next(bytes, sizeof(bytes), &at, &e));
        assert_int_equal(e.kind, PROC_EXEC);
        assert_int_equal(e.pid, 11 + i);
    }
    assert_false(proc_event_next(bytes, sizeof(bytes), &at, &e));
    assert_int_equal(at, sizeof(bytes));
}

/* ---- names in directories -------------------------------------------------------------------- */

static size_t put(char *buf, size_t at, int wd, uint32_t mask, const char *name, uint32_t len)
{
    struct inotify_event e = {.wd = wd, .mask = mask, .len = len};
    memcpy(buf + at, &e, sizeof(e));
    memset(buf + at + sizeof(e), 0, len);
    memcpy(buf + at + sizeof(e), name, strlen(name));
    return at + sizeof(e) + len;
}

static void events_of_files_are_read_one_after_the_other(void **state)
{
    char buf[512];
    struct spool_event v;
    size_t at = 0, n = put(buf, 0, 3, IN_CREATE | IN_ISDIR, "23.1", 16);
    n = put(buf, n, 4, IN_CLOSE_WRITE, "pid", 16);
    n = put(buf, n, -1, IN_Q_OVERFLOW, "", 0);
    assert_true(spool_event_next(buf, n, &at, &v));
    assert_int_equal(v.wd, 3);
    assert_string_equal(v.name, "23.1");
    assert_true(spool_event_next(buf, n, &at, &v));
    assert_int_equal(v.mask, IN_CLOSE_WRITE);
    assert_string_equal(v.name, "pid");
    assert_true(spool_event_next(buf, n, &at, &v));
    assert_int_equal(v.mask, IN_Q_OVERFLOW);
    assert_string_equal(v.name, "");
    assert_false(spool_event_next(buf, n, &at, &v));
    assert_int_equal(at, n);
}

static void an_event_that_is_cut_off_is_none(void **state)
{
    char buf[64];
    struct spool_event v;
    size_t n = put(buf, 0, 3, IN_CREATE, "23.1", 16);
    for (size_t cut = 0; cut < n; cut++) {
        size_t at = 0;
        assert_false(spool_event_next(buf, cut, &at, &v));
        assert_int_equal(at, 0);
    }
}

static void a_name_that_is_too_long_to_be_ours_is_empty(void **state)
{
    char buf[512], name[SPOOL_NAME_MAX + 1];
    struct spool_event v;
    size_t at = 0;
    memset(name, '1', sizeof(name));
    name[sizeof(name) - 1] = 0;
    size_t n = put(buf, 0, 3, IN_CREATE, name, 96);
    assert_true(spool_event_next(buf, n, &at, &v));
    assert_string_equal(v.name, "");
    name[sizeof(name) - 2] = 0;
    at = 0;
    n = put(buf, 0, 3, IN_CREATE, name, 96);
    assert_true(spool_event_next(buf, n, &at, &v));
    assert_string_equal(v.name, name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exec_is_told_with_its_process_and_not_its_thread),
        cmocka_unit_test(the_kernels_answer_has_its_error),
        cmocka_unit_test(other_events_and_other_senders_are_nothing),
        cmocka_unit_test(a_number_that_no_process_has_is_nothing),
        cmocka_unit_test(a_message_that_is_cut_off_is_none),
        cmocka_unit_test(a_message_whose_inner_lengths_lie_is_nothing),
        cmocka_unit_test(several_messages_in_one_datagram_are_all_read),
        cmocka_unit_test(events_of_files_are_read_one_after_the_other),
        cmocka_unit_test(an_event_that_is_cut_off_is_none),
        cmocka_unit_test(a_name_that_is_too_long_to_be_ours_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
