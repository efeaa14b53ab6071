/* SPDX-License-Identifier: BSD-3-Clause */
/* Front's side of asking the reader: a real one that answers, one that is stuck, as in a file
 * system whose server has gone, and one that dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-daemon/front/links/ask-reader.h"
#include "node-daemon/front/requests/watch-link.h"
#include "node-daemon/lib/watch-protocol.h"
#include "patience.h"
#include "spool-fixture.h"

static struct start front;
static struct part supervisor; /* of front's: the end of its control */
static struct conf conf;
static struct loop *loop;
static struct loop_io *control;
static struct reader_link link_;
static struct part reader;

/* ---- what is called -------------------------------------------------------------------------- */

struct asker {
    unsigned answers, nothing;
    struct reader_answer last;
    unsigned *left; /* when nobody is left to wait for, the loop stops */
};

static void answered(void *arg, const struct reader_answer *a)
{
    struct asker *k = arg;
    k->answers += a != NULL;
    k->nothing += a == NULL;
    if (a)
        k->last = *a;
    if ((!a || !a->more) && --*k->left == 0)
        loop_stop(loop);
}

static unsigned lost, gone, tasks;

static void on_task(void *arg, const char *job, pid_t pid, gid_t group)
{
    assert_string_equal(job, "26.1");
    assert_int_equal(pid, 4714);
    tasks++;
    loop_stop(loop);
}

static void on_gone(void *arg, const char *job)
{
    assert_string_equal(job, "26.1");
    gone++;
    loop_stop(loop);
}

static void on_lost(void *arg)
{
    lost++;
    loop_stop(loop);
}

static void run_until(const unsigned *done)
{
    while (!*done)
        loop_run(loop);
}

/* As front's main does it. */
static void on_control(void *arg, int fd, unsigned events)
{
    enum gift gift;
    unsigned which;
    assert_int_equal(start_take(&front, &gift, &which), 0);
    if (gift == GIFT_LINK && which == ROLE_READER)
        reader_link_renew(&link_);
}

/* ---- a reader -------------------------------------------------------------------------------- */

/* Its end of the link is front's from here on. */
static void start_reader(void)
{
    spool_reader("", &reader);
    part_give(&supervisor, GIFT_LINK, ROLE_READER, reader.link);
    reader.link = -1;
    lost = 0;
    run_until(&lost); /* the first word of each reader */
}

static int begin(void **state)
{
    spool_write("23.1/config", "job_owner=%s\nhost_slots=2\n", spool_user);
    spool_write("23.1/pe_hostfile", "n1 2 a.q@n1 UNDEFINED\nn1 4 b.q@n1 UNDEFINED\n");
    start_reader();
    return 0;
}

static int end(void **state)
{
    if (reader.pid > 0)
        part_end(&reader);
    spool_unlink("23.1");
    return 0;
}

static uint64_t ask(enum reader_op what, const char *job, struct asker *k)
{
    struct error e;
    uint64_t id;
    struct reader_request q = {.manager = GRANT_GRIDENGINE};
    snprintf(q.job, sizeof(q.job), "%s", job);
    ++*k->left;
    if (reader_ask(&link_, 0, what, &q, -1, answered, k, &id, &e) < 0)
        fail_msg("%s", e.text);
    return id;
}

static void await(const unsigned *left)
{
    while (*left)
        loop_run(loop);
}

/* Stopped, it takes no question from its link, as in a read that does not return. */
static void stop_reader(void)
{
    int status;
    assert_int_equal(kill(reader.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(reader.pid, &status, WUNTRACED), reader.pid);
    assert_true(WIFSTOPPED(status));
}

static void loop_once(void)
{
    struct loop_timer t;
    loop_timer_init(&t, loop, (void (*)(void *))loop_stop, loop);
    loop_timer_start(&t, 0, 0);
    loop_run(loop);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void each_question_gets_its_own_answer(void **state)
{
    unsigned left = 0;
    struct asker a = {.left = &left}, b = {.left = &left}, c = {.left = &left};
    ask(READER_IS_KNOWN, "23.1", &a);
    ask(READER_HOSTS, "23.1", &b);
    ask(READER_LOOK_UP, "99.1", &c);
    await(&left);
    assert_int_equal(a.answers, 1);
    assert_int_equal(a.last.known, 1);
    assert_int_equal(b.answers, 2); /* a host, and the end */
    assert_int_equal(c.last.code, ENOENT);
}

static void what_the_reader_tells_by_itself_is_told(void **state)
{
    tasks = gone = 0;
    spool_write("26.1/pid", "4714\n");
    run_until(&tasks);
    spool_unlink("26.1");
    run_until(&gone);
}

static void who_has_gone_is_not_called(void **state)
{
    unsigned left = 0;
    struct asker a = {.left = &left}, b = {.left = &left};
    uint64_t id = ask(READER_IS_KNOWN, "23.1", &a);
    reader_forget(&link_, id);
    reader_forget(&link_, id);
    left--;
    ask(READER_IS_KNOWN, "23.1", &b);
    await(&left);
    assert_int_equal(a.answers + a.nothing, 0);
    assert_int_equal(b.answers, 1);
}

struct tick {
    struct loop_timer timer;
    unsigned n;
};

static void tick(void *arg)
{
    struct tick *t = arg;
    t->n++;
}

/* All else in the loop goes on, who asked is told that there is no answer, and the answer that
 * comes too late is nobody's. */
static void a_reader_that_is_stuck_delays_nobody_else(void **state)
{
    unsigned left = 0;
    struct tick t = {.n = 0};
    struct asker a = {.left = &left}, b = {.left = &left};
    loop_timer_init(&t.timer, loop, tick, &t);
    loop_timer_start(&t.timer, 0.05, 0.05);
    stop_reader();
    double asked = loop_now();
    ask(READER_LOOK_UP, "23.1", &a);
    await(&left);
    double took = loop_now() - asked;
    loop_timer_stop(&t.timer);
    assert_int_equal(a.answers, 0);
    assert_int_equal(a.nothing, 1);
    assert_true(took >= 0.9 * READER_PATIENCE_S && took < READER_PATIENCE_S + patience(5));
    assert_true(t.n >= 10);
    assert_int_equal(kill(reader.pid, SIGCONT), 0);
    ask(READER_IS_KNOWN, "23.1", &b);
    await(&left);
    assert_int_equal(b.answers, 1);
    assert_int_equal(b.last.known, 1);
    assert_int_equal(a.answers + a.nothing, 1);
}

/* Front does not wait for room either. */
static void a_reader_that_is_stuck_takes_only_so_many_questions(void **state)
{
    unsigned left = 0;
    struct asker a = {.left = &left};
    struct error e = {.code = 0};
    struct reader_request q = {.manager = GRANT_GRIDENGINE, .job = "23.1"};
    stop_reader();
    unsigned n = 0;
    while (n < 100000 &&
           reader_ask(&link_, 0, READER_IS_KNOWN, &q, -1, answered, &a, NULL, &e) == 0)
        left = ++n;
    assert_int_equal(e.code, EAGAIN);
    assert_true(n > 16);
    assert_int_equal(kill(reader.pid, SIGCONT), 0);
    await(&left);
    assert_int_equal(a.answers + a.nothing, n);
}

static void a_reader_that_dies_answers_nothing_and_the_next_one_does(void **state)
{
    unsigned left = 0;
    struct asker a = {.left = &left}, b = {.left = &left};
    struct error e;
    struct reader_request q = {.manager = GRANT_GRIDENGINE, .job = "23.1"};
    stop_reader();
    ask(READER_IS_KNOWN, "23.1", &a);
    ask(READER_DEMAND, "23.1", &b);
    double asked = loop_now();
    assert_int_equal(kill(reader.pid, SIGKILL), 0);
    assert_int_equal(part_wait(&reader), -SIGKILL);
    await(&left);
    assert_true(loop_now() - asked < READER_PATIENCE_S); /* nobody waits for one that is dead */
    assert_int_equal(a.nothing, 1);
    assert_int_equal(b.nothing, 1);
    assert_int_equal(reader_ask(&link_, 0, READER_IS_KNOWN, &q, -1, answered, &a, NULL, &e), -1);
    assert_int_equal(e.code, EPIPE);
    start_reader();
    ask(READER_IS_KNOWN, "23.1", &a);
    await(&left);
    assert_int_equal(a.answers, 1);
}

struct finder {
    struct findings all;
    unsigned found, passes;
    const struct finding *is;
};

static void look_again(void *arg)
{
    struct finder *f = arg;
    struct reader_request q = {.manager = GRANT_GRIDENGINE, .job = "23.1"};
    f->passes++;
    f->found = (unsigned)findings_get(&f->all, FIND_TASK, READER_LOOK_UP, &q, -1, &f->is);
    if (f->found)
        loop_stop(loop);
}

static void what_is_asked_while_there_is_no_reader_the_next_one_answers(void **state)
{
    struct finder f = {.found = 0};
    for (int dies_later = 0; dies_later < 2; dies_later++) {
        findings_init(&f.all, &link_, 0, look_again, &f);
        stop_reader();
        if (dies_later)
            look_again(&f);
        assert_int_equal(kill(reader.pid, SIGKILL), 0);
        assert_int_equal(part_wait(&reader), -SIGKILL);
        while (link_.fd >= 0)
            loop_once();
        if (!dies_later)
            look_again(&f);
        assert_int_equal(f.found, 0);
        start_reader();
        run_until(&f.found);
        assert_int_equal(f.is->n, 1);
        assert_int_equal(f.is->answer->code, 0);
        findings_free(&f.all);
        f.found = 0;
    }
}

static void without_a_reader_nothing_is_found_in_time(void **state)
{
    struct finder f = {.found = 0};
    part_end(&reader);
    reader.pid = 0;
    findings_init(&f.all, &link_, 0, look_again, &f);
    double asked = loop_now();
    look_again(&f);
    run_until(&f.found);
    double took = loop_now() - asked;
    assert_int_equal(f.is->n, 0);
    assert_true(took >= 0.9 * READER_PATIENCE_S && took < READER_PATIENCE_S + patience(5));
    findings_free(&f.all);
}

/* What the reader has answered in time counts, however late front comes to read it. */
static void who_comes_late_to_an_answer_that_is_there_has_it(void **state)
{
    unsigned left = 0;
    struct asker a = {.left = &left};
    ask(READER_IS_KNOWN, "23.1", &a);
    usleep((useconds_t)(READER_PATIENCE_S * 1.1e6));
    await(&left);
    assert_int_equal(a.answers, 1);
}

/* The reader reads what users write, so front takes nothing of its for granted: here the test is
 * the reader. */
static void what_is_no_answer_is_none(void **state)
{
    unsigned left = 0;
    int ends[2];
    struct asker a = {.left = &left};
    struct reader_answer r;
    part_end(&reader);
    reader.pid = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    front.link[ROLE_READER] = ends[1];
    reader_link_renew(&link_);
    uint64_t id = ask(READER_LOOK_UP, "23.1", &a);
    for (int i = 0; i < 6; i++) {
        memset(&r, 0, sizeof(r));
        r.head = record_head(READER_LOOK_UP, i == 0 ? id + 1 : id);
        memset(r.text, 'x', i == 1 ? sizeof(r.text) : 0);
        memset(r.evidence.binding, 'x', i == 2 ? sizeof(r.evidence.binding) : 0);
        if (i == 5)
            strcpy(r.text, "\033[2J");
        r.evidence.demand.n = i == 3 ? DEMAND_PARTS + 1 : 0;
        assert_int_equal(record_send(ends[0], &r, sizeof(r) - (i == 4), -1), 0);
    }
    strcpy(r.text, "a sentence");
    r.code = 4711;
    assert_int_equal(record_send(ends[0], &r, sizeof(r), -1), 0);
    await(&left);
    assert_int_equal(a.answers, 1);
    assert_int_equal(a.last.code, 4711);
    close(ends[0]);
}

/* ---- watch ----------------------------------------------------------------------------------- */

enum { ENDED = 1000 };

/* Asks for the tasks and reads them: 0 if all have come, and the end. */
static int be_watch(int fd)
{
    struct watch_record r = {.head = record_head(WATCH_TASKS, 1)};
    int none, n = 0;
    alarm((unsigned)patience(20));
    if (record_send(fd, &r, sizeof(r), -1) < 0)
        return 1;
    do
        if (record_receive(fd, &r, sizeof(r), &none) != 1)
            return 2;
    while (r.head.what != WATCH_TASK || (r.more && ++n));
    return r.code == 0 && n == ENDED + 1 ? 0 : 3;
}

static void child_ends(void *arg, int fd, unsigned events)
{
    loop_stop(loop);
}

/* There are more than the link takes at once, and one task that has not ended. */
static void watch_hears_of_all_jobs_that_have_ended(void **state)
{
    int ends[2], alive[2], status;
    struct requests requests = {.reader = &link_, .conf = &conf};
    struct job job = {.uid = 1000};
    static struct watch_link w;
    char spool[] = "spool";
    conf.ge_spool = spool;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(pipe(alive), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        _exit(be_watch(ends[0]));
    }
    close(ends[0]);
    close(alive[1]);
    front.link[ROLE_WATCH] = ends[1];
    watch_link_init(&w, loop, &front, &requests);
    for (unsigned i = 0; i < ENDED; i++) {
        snprintf(job.name, sizeof(job.name), "%u.1", 1000 + i);
        watch_link_note(&w, job.name, 20000 + i);
        watch_link_ended(&w, &job);
    }
    struct loop_io *io = loop_io_create(loop, alive[0], LOOP_READ, child_ends, NULL);
    loop_run(loop);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    loop_io_destroy(io);
    close(alive[0]);
    watch_link_close(&w);
    conf.ge_spool = NULL;
}

/* Its claims are counted anew: the answer to one of the last watch's would be taken for that to
 * another's. Here the test is the reader, and both watches. */
static void a_claim_of_a_watch_that_has_gone_is_not_answered_to_the_next(void **state)
{
    int ends[2], watch[2], none;
    struct requests requests = {.reader = &link_, .conf = &conf};
    struct watch_record claim = {.head = record_head(WATCH_CLAIM, 1)}, said;
    struct reader_request asked;
    struct reader_answer a = {.code = EPERM};
    static struct watch_link w;
    part_end(&reader);
    reader.pid = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    front.link[ROLE_READER] = ends[1];
    reader_link_renew(&link_);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, watch), 0);
        front.link[ROLE_WATCH] = watch[1];
        if (i == 0)
            watch_link_init(&w, loop, &front, &requests);
        else
            watch_link_renew(&w);
        assert_int_equal(record_send(watch[0], &claim, sizeof(claim), -1), 0);
        while (w.claims < (size_t)i + 1)
            loop_once();
        if (i == 0)
            close(watch[0]);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(record_receive(ends[0], &asked, sizeof(asked), &none), 1);
        a.head = record_head(READER_CLAIM, asked.head.id);
        snprintf(a.text, sizeof(a.text), "claim %d", i);
        assert_int_equal(record_send(ends[0], &a, sizeof(a), -1), 0);
    }
    while (w.claims > 0)
        loop_once();
    assert_int_equal(record_receive(watch[0], &said, sizeof(said), &none), 1);
    assert_string_equal(said.text, "claim 1");
    watch_link_close(&w);
    close(watch[0]);
    close(ends[0]);
}

static int set_up(void **state)
{
    struct error e;
    static const struct reader_calls calls = {.task = on_task, .gone = on_gone, .lost = on_lost};
    supervisor.control = part_become_front(&front);
    if (part_be_ordinary(state) < 0 || spool_make() < 0 || !(loop = loop_create(&e)) ||
        !(control = loop_io_create(loop, START_CONTROL, LOOP_READ, on_control, NULL)))
        return -1;
    reader_link_init(&link_, loop, &front, &conf, &calls, NULL);
    return 0;
}

static int tear_down(void **state)
{
    reader_link_close(&link_);
    loop_io_destroy(control);
    loop_destroy(loop);
    return spool_remove(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_question_gets_its_own_answer),
        TEST(what_the_reader_tells_by_itself_is_told),
        TEST(who_has_gone_is_not_called),
        TEST(a_reader_that_is_stuck_delays_nobody_else),
        TEST(a_reader_that_is_stuck_takes_only_so_many_questions),
        TEST(a_reader_that_dies_answers_nothing_and_the_next_one_does),
        TEST(what_is_asked_while_there_is_no_reader_the_next_one_answers),
        TEST(without_a_reader_nothing_is_found_in_time),
        TEST(who_comes_late_to_an_answer_that_is_there_has_it),
        TEST(what_is_no_answer_is_none),
        TEST(watch_hears_of_all_jobs_that_have_ended),
        TEST(a_claim_of_a_watch_that_has_gone_is_not_answered_to_the_next),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
