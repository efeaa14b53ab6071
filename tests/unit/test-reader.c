/* SPDX-License-Identifier: BSD-3-Clause */
/* The real mprund-reader and a spool directory of the test's own: every question, and what it tells
 * by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "node-daemon/lib/reader-protocol.h"
#include "patience.h"
#include "spool-fixture.h"

static struct part reader;

/* ---- asking ---------------------------------------------------------------------------------- */

static void next_record(struct reader_answer *ret)
{
    struct pollfd p = {.fd = reader.link, .events = POLLIN};
    int none;
    assert_int_equal(poll(&p, 1, (int)(patience(20) * 1000)), 1);
    assert_int_equal(record_receive(reader.link, ret, sizeof(*ret), &none), 1);
}

/* Events come as they like. */
static void next_answer(struct reader_answer *ret)
{
    do
        next_record(ret);
    while (ret->head.id == 0);
}

static void next_event(enum reader_op what, struct reader_answer *ret)
{
    do
        next_record(ret);
    while (ret->head.id != 0 || ret->head.what != what);
}

static struct reader_request question(const char *job, const char *task)
{
    struct reader_request q = {.manager = GRANT_GRIDENGINE};
    snprintf(q.job, sizeof(q.job), "%s", job);
    snprintf(q.task, sizeof(q.task), "%s", task);
    return q;
}

static void ask(enum reader_op what, struct reader_request q, int fd, struct reader_answer *ret)
{
    static uint64_t id;
    q.head = record_head(what, ++id);
    assert_int_equal(record_send(reader.link, &q, sizeof(q), fd), 0);
    next_answer(ret);
    assert_int_equal(ret->head.id, id);
    assert_int_equal(ret->head.what, what);
}

static void must_fail(const struct reader_answer *a, int code, const char *words)
{
    assert_int_equal(a->code, code);
    if (!strstr(a->text, words))
        fail_msg("'%s' is not in '%s'", words, a->text);
}

/* ---- the spool directory --------------------------------------------------------------------- */

/* A job whose script is here, and one of which there is a slave task only. */
static void write_jobs(void)
{
    spool_write("23.1/config", "job_owner=%s\nhost_slots=2\nh_vmem=1G\n", spool_user);
    spool_write("23.1/addgrpid", "%u\n", (unsigned)spool_group);
    spool_write("23.1/pid", "4711\n");
    spool_write("23.1/pe_hostfile", "n2 3 b.q@n2 UNDEFINED\nn1 2 a.q@n1 UNDEFINED\n"
                                    "n1 4 b.q@n1 UNDEFINED\n");
    spool_write("24.1/1.n12/config", "job_owner=%s\nhost_slots=3\n", spool_user);
    spool_write("24.1/1.n12/addgrpid", "20999\n");
    spool_write("24.1/1.n12/pid", "4713\n");
    spool_write("24.1/1.n12/environment", "HOME=/x\nMPRUN_GRANT=abc-_1\nMPRUN_GRANT=later\n");
}

static int begin(void **state)
{
    write_jobs();
    spool_reader("", &reader);
    return 0;
}

static int end(void **state)
{
    part_end(&reader);
    spool_unlink("23.1");
    spool_unlink("24.1");
    return 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

static void a_job_is_looked_up(void **state)
{
    struct reader_answer a;
    ask(READER_LOOK_UP, question("23.1", ""), -1, &a);
    assert_int_equal(a.code, 0);
    assert_string_equal(a.evidence.name, "23.1");
    assert_int_equal(a.evidence.uid, geteuid());
    assert_int_equal(a.evidence.share.slots, 2);
    assert_int_equal(a.evidence.share.is_master, 1);
    assert_int_equal(a.evidence.limits.memory.value, UINT64_C(2) << 30);
    assert_string_equal(a.grant, "");
    ask(READER_LOOK_UP, question("24.1", "1.n12"), -1, &a);
    assert_int_equal(a.code, 0);
    assert_int_equal(a.evidence.share.is_master, 0);
    assert_int_equal(a.evidence.cores, 3);
    assert_string_equal(a.grant, "abc-_1");
    assert_int_equal(a.evidence.demand_known, 0);
}

static void what_is_not_there_is_told(void **state)
{
    struct reader_answer a;
    struct reader_request q = question("23.1", "");
    ask(READER_LOOK_UP, question("99.1", ""), -1, &a);
    must_fail(&a, ENOENT, "look up job 99.1");
    ask(READER_LOOK_UP, question("../23.1", ""), -1, &a);
    must_fail(&a, EINVAL, "not names of Grid Engine's");
    q.manager = GRANT_SITE;
    ask(READER_LOOK_UP, q, -1, &a);
    must_fail(&a, ENOTSUP, "configuration");
    spool_write("25.1/config", "job_owner=no\033[2Jbody\300\n");
    ask(READER_LOOK_UP, question("25.1", ""), -1, &a);
    must_fail(&a, EPERM, "its owner 'no?[2Jbody?' is no user");
    spool_unlink("25.1");
}

static int known(const char *job, enum grant_manager manager)
{
    struct reader_answer a;
    struct reader_request q = question(job, "");
    q.manager = manager;
    ask(READER_IS_KNOWN, q, -1, &a);
    assert_int_equal(a.code, 0);
    return a.known;
}

static void a_job_is_known_or_not_or_nobody_can_say(void **state)
{
    assert_int_equal(known("23.1", GRANT_GRIDENGINE), 1);
    assert_int_equal(known("99.1", GRANT_GRIDENGINE), 0);
    assert_int_equal(known("..", GRANT_GRIDENGINE), -1);
    assert_int_equal(known("23.1", GRANT_SITE), -1);
}

/* The socket is this process's own: its uid, its groups. */
static void who_connected_is_proven_by_the_socket(void **state)
{
    struct reader_answer a;
    int ends[2];
    if (spool_group == 0)
        skip();
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    ask(READER_PROVE, question("", ""), ends[0], &a);
    assert_int_equal(a.code, 0);
    assert_int_equal(a.manager, GRANT_GRIDENGINE);
    assert_string_equal(a.evidence.name, "23.1");
    assert_int_equal(a.evidence.uid, geteuid());
    spool_write("23.1/addgrpid", "20998\n");
    ask(READER_PROVE, question("", ""), ends[0], &a);
    must_fail(&a, EPERM, "nothing that Grid Engine's execd wrote");
    spool_write("24.1/1.n12/addgrpid", "%u\n", (unsigned)spool_group);
    ask(READER_PROVE, question("", ""), ends[0], &a);
    assert_int_equal(a.code, 0);
    assert_string_equal(a.evidence.name, "24.1");
    assert_string_equal(a.grant, "abc-_1");
    spool_write("24.1/1.n12/config", "job_owner=daemon\n");
    ask(READER_PROVE, question("", ""), ends[0], &a);
    must_fail(&a, EPERM, "nothing that Grid Engine's execd wrote");
    ask(READER_PROVE, question("", ""), -1, &a);
    must_fail(&a, EBADF, "who connected");
    close(ends[0]);
    close(ends[1]);
}

static void hosts_with_several_queues_are_told_one_by_one(void **state)
{
    struct reader_answer a;
    ask(READER_HOSTS, question("23.1", ""), -1, &a);
    assert_int_equal(a.more, 1);
    assert_string_equal(a.host, "n1");
    assert_int_equal(a.slots, 6);
    next_answer(&a);
    assert_int_equal(a.more, 0);
    assert_int_equal(a.code, 0);
    assert_string_equal(a.host, "");
    ask(READER_HOSTS, question("24.1", ""), -1, &a);
    assert_int_equal(a.more, 0);
}

static void all_tasks_are_told_one_by_one(void **state)
{
    struct reader_answer a;
    unsigned jobs = 0, tasks = 0;
    ask(READER_TASKS, question("", ""), -1, &a);
    for (; a.more; next_answer(&a)) {
        if (!strcmp(a.job, "23.1")) {
            assert_string_equal(a.task, "");
            assert_int_equal(a.group, spool_group);
            assert_int_equal(a.pid, 4711);
            jobs++;
        } else if (!strcmp(a.task, "1.n12")) {
            assert_string_equal(a.job, "24.1");
            assert_int_equal(a.group, 20999);
            tasks++;
        }
    }
    assert_int_equal(jobs, 1);
    assert_int_equal(tasks, 1);
}

static void the_limit_of_a_daemon_that_is_not_there_is_none(void **state)
{
    struct reader_answer a;
    ask(READER_OWN_LIMIT, question("", ""), -1, &a);
    assert_int_equal(a.code, 0);
    assert_int_equal(a.own_limit.set, 0);
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void a_shepherd_is_of_the_task_whose_directory_it_is_in(void **state)
{
    struct reader_answer a;
    struct stat st;
    char path[256];
    struct reader_request q = question("23.1", "");
    snprintf(path, sizeof(path), "%s/spool/active_jobs/23.1", spool_dir);
    assert_int_equal(stat(path, &st), 0);
    ask(READER_CLAIM, q, -1, &a);
    must_fail(&a, EPERM, "another directory");
    q.dev = st.st_dev;
    q.ino = st.st_ino;
    ask(READER_CLAIM, q, -1, &a); /* of the execd's */
    assert_int_equal(a.code, 0);
    assert_string_equal(a.evidence.name, "23.1");
    q.shepherd = 4711;
    ask(READER_CLAIM, q, -1, &a);
    assert_int_equal(a.code, 0);
    q.shepherd = 4712;
    ask(READER_CLAIM, q, -1, &a);
    must_fail(&a, EPERM, "no child of");
    q = question("24.1", "1.n12");
    q.dev = st.st_dev;
    q.ino = st.st_ino;
    ask(READER_CLAIM, q, -1, &a);
    must_fail(&a, EPERM, "another directory");
    q = question("24.1", "2.n12");
    ask(READER_CLAIM, q, -1, &a);
    must_fail(&a, EPERM, "no directory of a task's");
}

static void a_process_with_the_tasks_group_is_of_the_owner(void **state)
{
    struct reader_answer a;
    struct reader_request q = question("24.1", "1.n12");
    q.by_group = 1;
    q.real_uid = geteuid();
    ask(READER_CLAIM, q, -1, &a);
    assert_int_equal(a.code, 0);
    assert_string_equal(a.grant, "abc-_1");
    q.real_uid = 0;
    q.uid = geteuid();
    ask(READER_CLAIM, q, -1, &a);
    assert_int_equal(a.code, 0);
    q.uid = 0;
    ask(READER_CLAIM, q, -1, &a);
    must_fail(&a, EPERM, "not of the job's owner");
    spool_write("24.1/1.n12/config", "job_owner=%s\njob_owner=daemon\n", spool_user);
    ask(READER_CLAIM, q, -1, &a); /* nobody's, and 0 is no user */
    must_fail(&a, EPERM, "not of the job's owner");
}

static void a_rules_owner_is_a_user_and_not_root(void **state)
{
    static const char *const wrong[] = {"root", "0", "4294967295", "no such user", ""};
    struct reader_answer a;
    struct reader_request q = question("pbs.17", "");
    q.manager = GRANT_SITE;
    strcpy(q.owner, "daemon");
    ask(READER_CLAIM, q, -1, &a);
    assert_int_equal(a.code, 0);
    assert_string_equal(a.evidence.name, "pbs.17");
    assert_true(a.evidence.uid > 0);
    strcpy(q.owner, "70007");
    ask(READER_CLAIM, q, -1, &a);
    assert_int_equal(a.evidence.uid, 70007);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        strcpy(q.owner, wrong[i]);
        ask(READER_CLAIM, q, -1, &a);
        must_fail(&a, EPERM, "no user of this host");
    }
    strcpy(q.owner, "daemon");
    strcpy(q.job, "../x");
    ask(READER_CLAIM, q, -1, &a);
    must_fail(&a, EINVAL, "no name of a job");
}

/* ---- what it tells by itself ----------------------------------------------------------------- */

static void what_the_execd_writes_is_told(void **state)
{
    struct reader_answer a;
    next_event(READER_LOST, &a); /* it has begun to watch */
    spool_write("26.1/addgrpid", "20997\n");
    spool_write("26.1/pid", "4714\n");
    next_event(READER_TASK, &a);
    assert_string_equal(a.job, "26.1");
    assert_string_equal(a.task, "");
    assert_int_equal(a.pid, 4714);
    spool_unlink("26.1");
    next_event(READER_GONE, &a);
    assert_string_equal(a.job, "26.1");
}

/* The reader was stuck while a job was put back and began here again. */
static void a_job_that_is_here_again_has_not_gone(void **state)
{
    struct reader_answer a;
    next_event(READER_LOST, &a);
    spool_write("26.1/pid", "4714\n");
    next_event(READER_TASK, &a);
    assert_int_equal(kill(reader.pid, SIGSTOP), 0);
    spool_unlink("26.1");
    spool_write("26.1/pid", "4715\n");
    assert_int_equal(kill(reader.pid, SIGCONT), 0);
    do {
        next_record(&a);
        assert_int_not_equal(a.head.what, READER_GONE);
    } while (a.head.what != READER_TASK || a.pid != 4715);
    spool_unlink("26.1");
    next_event(READER_GONE, &a);
}

static void another_front_is_told_to_look_at_everything(void **state)
{
    struct reader_answer a;
    next_event(READER_LOST, &a);
    close(reader.link);
    reader.link = part_link_again(&reader);
    next_event(READER_LOST, &a);
    assert_int_equal(known("23.1", GRANT_GRIDENGINE), 1);
}

/* ---- qstat ----------------------------------------------------------------------------------- */

static void make_qstat(const char *body)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/qstat", spool_dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", body);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static int begin_with_qstat(void **state)
{
    char more[128];
    write_jobs();
    snprintf(more, sizeof(more), "qstat = \"%s/qstat\"", spool_dir);
    spool_reader(more, &reader);
    return 0;
}

/* While it is asked, others are answered. */
static void qstat_is_asked_and_nobody_else_waits(void **state)
{
    struct reader_answer a;
    struct demand d;
    uint64_t bytes;
    AUTO_FREE char *body = NULL;
    struct reader_request q = question("4.1", "");
    assert_true(asprintf(&body,
                         "until [ -e '%s/go' ]; do sleep 0.05; done\n"
                         "cat '%s/tests/unit/gridengine-jobs/n-slot/qstat.xml'",
                         spool_dir, getenv("MPRUN_SOURCE")) > 0);
    make_qstat(body);
    for (uint64_t id = 1001; id <= 1002; id++) {
        q.head = record_head(READER_DEMAND, id);
        assert_int_equal(record_send(reader.link, &q, sizeof(q), -1), 0);
    }
    assert_int_equal(known("23.1", GRANT_GRIDENGINE), 1);
    char go[128];
    snprintf(go, sizeof(go), "%s/go", spool_dir);
    fclose(fopen(go, "w"));
    unsigned ids = 0;
    for (int i = 0; i < 2; i++) {
        next_answer(&a);
        ids += (unsigned)a.head.id;
        assert_int_equal(a.head.what, READER_DEMAND);
        assert_int_equal(a.code, 0);
        assert_int_equal(demand_get(a.demand, &d), 0);
        assert_int_equal(demand_on(&d, DEMAND_MEMORY, 2, 1, &bytes), 1);
        assert_int_equal(bytes, 2 * UINT64_C(200) << 20);
    }
    assert_int_equal(ids, 1001 + 1002);
}

static void what_qstat_cannot_say_is_told(void **state)
{
    struct reader_answer a;
    make_qstat("printf 'denied\\033[2J' >&2; exit 1");
    ask(READER_DEMAND, question("4.1", ""), -1, &a);
    must_fail(&a, EIO, "denied");
    for (const char *c = a.text; *c; c++)
        assert_true(isprint((unsigned char)*c));
    ask(READER_DEMAND, question("-j", ""), -1, &a);
    must_fail(&a, EINVAL, "no job of Grid Engine's");
}

static void without_qstat_that_is_said(void **state)
{
    struct reader_answer a;
    ask(READER_DEMAND, question("4.1", ""), -1, &a);
    must_fail(&a, ENOTSUP, "no qstat");
}

/* ---- its end --------------------------------------------------------------------------------- */

static void malformed_records_end_it(void **state)
{
    for (int i = 0; i < 6; i++) {
        struct part p;
        struct reader_request q = question("23.1", "");
        q.head = record_head(i == 2 ? READER_TASK : READER_LOOK_UP, 1);
        q.head.what = i == 3 ? 77 : q.head.what;
        q.head.magic += i == 1;
        memset(q.job, '1', i == 4 ? sizeof(q.job) : 0);
        memset(q.owner, 'x', i == 5 ? sizeof(q.owner) : 0);
        spool_reader("", &p);
        assert_int_equal(record_send(p.link, &q, sizeof(q) - (i == 0), -1), 0);
        assert_int_equal(part_wait(&p), 1);
    }
}

static void no_process_of_its_user_looks_into_it(void **state)
{
    assert_false(part_can_be_looked_into(&reader));
}

static int set_up(void **state)
{
    return part_be_ordinary(state) < 0 ? -1 : spool_make();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_looked_up),
        TEST(what_is_not_there_is_told),
        TEST(a_job_is_known_or_not_or_nobody_can_say),
        TEST(who_connected_is_proven_by_the_socket),
        TEST(hosts_with_several_queues_are_told_one_by_one),
        TEST(all_tasks_are_told_one_by_one),
        TEST(the_limit_of_a_daemon_that_is_not_there_is_none),
        TEST(a_shepherd_is_of_the_task_whose_directory_it_is_in),
        TEST(a_process_with_the_tasks_group_is_of_the_owner),
        TEST(a_rules_owner_is_a_user_and_not_root),
        TEST(what_the_execd_writes_is_told),
        TEST(a_job_that_is_here_again_has_not_gone),
        TEST(another_front_is_told_to_look_at_everything),
        cmocka_unit_test_setup_teardown(qstat_is_asked_and_nobody_else_waits, begin_with_qstat,
                                        end),
        cmocka_unit_test_setup_teardown(what_qstat_cannot_say_is_told, begin_with_qstat, end),
        TEST(without_qstat_that_is_said),
        cmocka_unit_test(malformed_records_end_it),
        TEST(no_process_of_its_user_looks_into_it),
    };
    return cmocka_run_group_tests(tests, set_up, spool_remove);
}
