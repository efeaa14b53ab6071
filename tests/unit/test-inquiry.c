/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking Grid Engine in an unprivileged process: by the real mprund-qstat with stand-ins for qstat
 * that print what a real one has, and by stand-ins for mprund-qstat that answer what they should
 * not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "node-daemon/reader/inquiry.h"
#include "node-daemon/reader/questions.h"

enum { NOBODY = 65534 };
static char dir[64];

static struct conf conf = {
    .ge_root = "/r",
    .ge_cell = "c",
    .qmaster_port = 6444,
    .qstat_seconds = 10,
    .memory_complex = "m_mem_free",
    .virtual_complex = "h_vmem",
    .gpu_complex = "nvidia_gpu",
};

struct asked {
    struct loop *loop;
    int want, answers, known;
    struct demand demand;
    struct error err;
};

static void answered(void *arg, const char *job, const struct demand *d, const struct error *err)
{
    struct asked *a = arg;
    a->known += d != NULL;
    if (d)
        a->demand = *d;
    else
        a->err = *err;
    if (++a->answers == a->want)
        loop_stop(a->loop);
}

static char *program(const char *name, const char *body)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", body);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* The helper answers `times` inquiries about job 4.1; then no process of them is left. */
static void ask(const char *helper, int times, struct asked *ret)
{
    struct error e;
    *ret = (struct asked){.want = times, .loop = loop_create(&e)};
    assert_non_null(ret->loop);
    struct inquiries *q = inquiries_create(ret->loop, &conf, helper, answered, ret);
    assert_non_null(q);
    for (int i = 0; i < times; i++)
        assert_int_equal(inquiries_ask(q, "4.1", &e), 0);
    loop_run(ret->loop);
    inquiries_destroy(q);
    loop_destroy(ret->loop);
    assert_int_equal(ret->answers, times);
    while (waitpid(-1, NULL, 0) > 0) /* killed, but perhaps not waited for yet */
        ;
    assert_int_equal(errno, ECHILD);
}

static void ask_qstat(const char *body, int times, struct asked *ret)
{
    char helper[1024];
    AUTO_FREE char *qstat = program("qstat", body);
    snprintf(helper, sizeof(helper), "%s/node-daemon/mprund-qstat", getenv("MPRUN_BUILD"));
    conf.ge_qstat = qstat;
    ask(helper, times, ret);
}

static char *printing(const char *sample)
{
    char *body;
    assert_true(asprintf(&body, "cat '%s/tests/unit/gridengine-jobs/%s/qstat.xml'",
                         getenv("MPRUN_SOURCE"), sample) > 0);
    return body;
}

static void a_job_asks_for_what_qstat_says(void **state)
{
    struct asked a;
    AUTO_FREE char *body = printing("n-slot");
    uint64_t bytes;
    ask_qstat(body, 1, &a);
    assert_int_equal(a.known, 1);
    assert_int_equal(demand_on(&a.demand, DEMAND_MEMORY, 2, 1, &bytes), 1);
    assert_int_equal(bytes, 2 * UINT64_C(200) << 20);
    assert_int_equal(demand_on(&a.demand, DEMAND_GPU, 2, 1, &bytes), 1);
    assert_int_equal(bytes, 2);
}

static void many_are_asked_a_few_at_a_time(void **state)
{
    struct asked a;
    AUTO_FREE char *body = printing("n-slot");
    ask_qstat(body, 20, &a);
    assert_int_equal(a.known, 20);
}

/* The new one of this process; what it was, for the caller to free. */
static char *oom_score(const char *new)
{
    char *old = NULL;
    FILE *f = fopen("/proc/self/oom_score_adj", "r+");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%m[-0-9]", &old), 1);
    rewind(f);
    fputs(new, f);
    assert_int_equal(fclose(f), 0);
    return old;
}

/* Nothing of root's: no right, no group, no descriptor, no variable but what the configuration
 * says. */
static void it_runs_with_nothing(void **state)
{
    struct asked a;
    AUTO_FREE char *sample = printing("serial");
    AUTO_FREE char *body = NULL;
    assert_true(asprintf(&body,
                         "ok=0\n"
                         "[ $(id -u) = 0 ] && ok=1\n"
                         "grep -q '^NoNewPrivs:.1' /proc/self/status || ok=2\n"
                         "grep -q '^CapEff:.0*$' /proc/self/status || ok=3\n"
                         "[ \"$SGE_ROOT $SGE_CELL $SGE_QMASTER_PORT\" = '/r c 6444' ] || ok=5\n"
                         "[ -z \"$MPRUN_SOURCE$HOME\" ] || ok=6\n"
                         "[ ! -e /proc/$$/fd/100 ] || ok=7\n"
                         "[ $(ulimit -c) = 0 ] || ok=8\n"
                         "[ \"$*\" = '-xml -j 4' ] || ok=9\n"
                         "[ $(cat /proc/self/oom_score_adj) = 0 ] || ok=10\n"
                         "grep -q '^Max processes *4096 ' /proc/self/limits || ok=11\n"
                         "[ $ok = 0 ] || { echo wrong: $ok >&2; exit 1; }\n%s",
                         sample) > 0);
    assert_int_equal(dup2(STDERR_FILENO, 100), 100); /* somebody forgot to close it */
    AUTO_FREE char *before = oom_score("100");
    ask_qstat(body, 1, &a);
    free(oom_score(before));
    close(100);
    if (!a.known)
        fail_msg("%s", a.err.text);
}

static void must_fail(struct asked *a, const char *words)
{
    assert_int_equal(a->known, 0);
    if (!strstr(a->err.text, words))
        fail_msg("'%s' is not in '%s'", words, a->err.text);
}

static void what_qstat_cannot_say_is_told(void **state)
{
    struct asked a;
    ask_qstat("echo error: denied: host n1 is neither submit nor admin host >&2; exit 1", 1, &a);
    must_fail(&a, "neither submit nor admin host");
    ask_qstat("exit 0", 1, &a);
    must_fail(&a, "printed nothing");
    ask_qstat("echo '<detailed_job_info><djob_info>'", 1, &a);
    must_fail(&a, "-xml -j 4");
    ask_qstat("cat /dev/zero", 1, &a);
    must_fail(&a, "-xml -j 4");
    ask_qstat("kill -9 $$", 1, &a);
    must_fail(&a, "printed nothing");
    char *unknown;
    assert_true(asprintf(&unknown, "cat '%s/tests/fuzz/corpus/qstat-xml/unknown.xml'",
                         getenv("MPRUN_SOURCE")) > 0);
    ask_qstat(unknown, 1, &a);
    free(unknown);
    must_fail(&a, "knows no job '99999'");
    assert_int_equal(a.err.code, ESRCH);
}

static void one_that_never_ends_is_ended(void **state)
{
    struct asked a;
    conf.qstat_seconds = 1;
    ask_qstat("sleep 1000 & exec sleep 1000", 1, &a);
    conf.qstat_seconds = 10;
    must_fail(&a, "-xml -j 4");
}

/* What a script that is called qstat has begun and left goes with the inquiry. */
static void nothing_of_it_outlives_its_answer(void **state)
{
    struct asked a;
    double begin = loop_now();
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0); /* it is waited for */
    ask_qstat("sleep 60 >/dev/null 2>&1 & exit 1", 1, &a);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    must_fail(&a, "printed nothing");
    assert_true(loop_now() - begin < 40);
}

/* A helper that was taken over by what it read. */
static void other_answers_are_none(void **state)
{
    static const struct {
        const char *body, *words;
    } helpers[] = {
        {"exit 0", "without a word"},
        {"printf MPSQ", "is none"},
        {"head -c 368 /dev/zero", "is none"},
        {"printf 'MPSQ\\000\\000\\000\\000'; head -c 360 /dev/zero | tr '\\000' '\\377'", "no end"},
        {"printf 'MPSQ\\000\\000\\000\\000\\007'; head -c 359 /dev/zero", "no demand"},
        {"printf 'MPSQ\\003\\000\\000\\000'; head -c 360 /dev/zero", "is none"},
        {"printf 'MPSQ\\000\\000\\000\\000'; head -c 361 /dev/zero", "is none"},
        {"head -c 100000000 /dev/zero", "is none"},
    };
    _Static_assert(sizeof(struct inquiry_record) == 368, "what the helpers print");
    conf.ge_qstat = "/nowhere";
    for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++) {
        struct asked a;
        AUTO_FREE char *helper = program("helper", helpers[i].body);
        ask(helper, 1, &a);
        must_fail(&a, helpers[i].words);
    }
    struct asked a;
    AUTO_FREE char *good =
        program("helper", "printf 'MPSQ\\000\\000\\000\\000'; head -c 360 /dev/zero");
    ask(good, 1, &a); /* nothing is asked for */
    assert_int_equal(a.known, 1);
    assert_int_equal(a.demand.n, 0);
}

/* A line of its own in the log, a terminal's escape sequence in 7 and in 8 bits, half a character.
 */
static void what_a_helper_says_is_printable(void **state)
{
    static const char says[] = "printf 'MPSQ\\001\\000\\000\\000'; head -c 104 /dev/zero; "
                               "printf 'a\\nb\\033[2Jc\\302\\233d\\303\\274e\\303'; "
                               "head -c 241 /dev/zero";
    struct asked a;
    AUTO_FREE char *helper = program("helper", says);
    ask(helper, 1, &a);
    must_fail(&a, "a?b?[2Jc??d\303\274e?");
}

static void one_that_cannot_be_run_is_told(void **state)
{
    struct asked a;
    ask("/nowhere/mprund-qstat", 1, &a);
    must_fail(&a, "without a word");
}

/* Whoever asks is no root. */
static int make_directory(void **state)
{
    if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                           setresuid(NOBODY, NOBODY, NOBODY) < 0))
        return -1;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    strcpy(dir, "/tmp/test-inquiry.XXXXXX");
    return mkdtemp(dir) && chmod(dir, 0755) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
    static const char *const names[] = {"qstat", "helper"};
    char path[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    return rmdir(dir);
}

static void replied(void *arg, const struct reader_answer *a)
{
    struct asked *asked = arg;
    assert_int_equal(a->head.id, 7);
    assert_int_equal(a->code, EMFILE);
    asked->answers++;
}

static void a_question_that_cannot_be_asked_is_answered_at_once(void **state)
{
    static struct conf with = {.ge_root = "/r", .ge_cell = "c", .ge_qstat = "/no/qstat"};
    struct asked a = {.want = 1};
    struct error e;
    struct rlimit before, none;
    struct reader_request q = {.head.id = 7, .manager = GRANT_GRIDENGINE, .job = "11.1"};
    struct demands d;
    a.loop = loop_create(&e);
    demands_open(&d, a.loop, &with, replied, &a);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3; /* descriptors: no further one */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    demands_ask(&d, &q);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(a.answers, 1);
    demands_close(&d);
    loop_destroy(a.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_that_cannot_be_asked_is_answered_at_once),
        cmocka_unit_test(a_job_asks_for_what_qstat_says),
        cmocka_unit_test(many_are_asked_a_few_at_a_time),
        cmocka_unit_test(it_runs_with_nothing),
        cmocka_unit_test(what_qstat_cannot_say_is_told),
        cmocka_unit_test(one_that_never_ends_is_ended),
        cmocka_unit_test(nothing_of_it_outlives_its_answer),
        cmocka_unit_test(other_answers_are_none),
        cmocka_unit_test(what_a_helper_says_is_printable),
        cmocka_unit_test(one_that_cannot_be_run_is_told),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
