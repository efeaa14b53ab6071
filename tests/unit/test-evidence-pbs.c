/* SPDX-License-Identifier: BSD-3-Clause */
/* test-evidence-pbs.c - which job of PBS a process is in, and what it has here, from the files that
 * pbs_mom writes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-daemon/reader/evidence-sources.h"
#include "node-daemon/reader/pbs-job-file.h"

enum { SIZE = 8192 };

static char home[64], jobs[96];
static struct conf conf = {.pbs_home = home};

/* ---- files as pbs_mom writes them ------------------------------------------------------------ */

struct file {
    char bytes[SIZE];
    size_t n;
};

/* The beginnings of both versions; the offsets are said in pbs-job-file.c and from OpenPBS. */
static struct file begin(int32_t version, const char *id)
{
    struct file f = {.n = version == 2200 ? 896 : 912};
    memcpy(f.bytes, &version, sizeof(version));
    memcpy(f.bytes + (version == 2200 ? 24 : 48), id, strlen(id));
    return f;
}

static void head(struct file *f, int32_t all, int32_t name, int32_t resource, int32_t value)
{
    int32_t sizes[] = {all, name, resource, value};
    memcpy(f->bytes + f->n + 72, sizes, sizeof(sizes));
    f->n += 96;
}

static void put(struct file *f, const char *text)
{
    memcpy(f->bytes + f->n, text, strlen(text) + 1);
    f->n += strlen(text) + 1;
}

static void attribute(struct file *f, const char *name, const char *resource, const char *value)
{
    int32_t n = (int32_t)strlen(name) + 1, r = resource ? (int32_t)strlen(resource) + 1 : 0,
            v = (int32_t)strlen(value) + 1;
    head(f, 96 + n + r + v, n, r, v);
    put(f, name);
    if (resource)
        put(f, resource);
    put(f, value);
}

static struct file whole(int32_t version, const char *owner, const char *hosts, const char *chunks)
{
    struct file f = begin(version, "7.server");
    attribute(&f, "Job_Name", NULL, "x");
    attribute(&f, "euser", NULL, owner);
    attribute(&f, "Resource_List", "mem", "1kb");
    attribute(&f, "exec_host2", NULL, hosts);
    attribute(&f, "exec_vnode", NULL, chunks);
    head(&f, -711, 0, 0, 0);
    return f;
}

static struct file task(pid_t session, int32_t status)
{
    struct file f = {.n = 368};
    int32_t numbers[] = {-1, 0, 0, 1, status, session, 0};
    strcpy(f.bytes, "7.server");
    memcpy(f.bytes + 276, numbers, sizeof(numbers));
    return f;
}

static void write_file(const char *name, const struct file *f)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", jobs, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(f->bytes, 1, f->n, out), f->n);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

/* ---- a job's file ---------------------------------------------------------------------------- */

static struct pbs_share share_of(const char *hosts, const char *chunks, const char *host)
{
    struct pbs_job job = {.of_hosts = hosts, .chunks = chunks};
    return pbs_job_share(&job, host);
}

static void both_versions_are_read(void **state)
{
    for (int32_t version = 1900; version <= 2200; version += 300) {
        struct pbs_job job;
        struct file f = whole(version, "ann", "n1:15002/0", "(n1:ncpus=1)");
        assert_int_equal(pbs_job_read(f.bytes, f.n, &job, NULL), 0);
        assert_string_equal(job.id, "7.server");
        assert_string_equal(job.owner, "ann");
        assert_string_equal(job.of_hosts, "n1:15002/0");
        assert_string_equal(job.chunks, "(n1:ncpus=1)");
    }
}

static void what_is_malformed_is_refused(void **state)
{
    struct error e;
    struct pbs_job job;
    struct file f = whole(2200, "ann", "n1:15002/0", "(n1:ncpus=1)"), g = f;
    for (size_t n = 0; n < f.n; n++)
        assert_int_equal(pbs_job_read(f.bytes, n, &job, &e), -1);
    g.bytes[1]++;
    assert_int_equal(pbs_job_read(g.bytes, g.n, &job, &e), -1);
    assert_string_equal(e.text, "read a job of PBS: its file is of a version not known here");
    g = f;
    memset(g.bytes + 24, 'x', 276); /* an id that does not end */
    assert_int_equal(pbs_job_read(g.bytes, g.n, &job, &e), -1);
    static const int32_t sizes[] = {-1, 0, 95, 96, 1 << 30, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t field = 72; field < 88; field += 4) {
            g = f;
            memcpy(g.bytes + 896 + field, &sizes[i], sizeof(sizes[i]));
            if (field == 80 && sizes[i] == 0) /* as it is */
                continue;
            assert_int_equal(pbs_job_read(g.bytes, g.n, &job, &e), -1);
        }
    g = f; /* an owner more than once */
    g.n -= 96;
    attribute(&g, "euser", NULL, "bob");
    head(&g, -711, 0, 0, 0);
    assert_int_equal(pbs_job_read(g.bytes, g.n, &job, &e), -1);
}

static void chunks_of_a_host_are_added(void **state)
{
    const char *hosts = "n1:15002/0*2+n2:15002/0+n1:15002/1+n3.domain:15002/0*2",
               *chunks = "(n1:ncpus=2:mem=1048576kb:ngpus=1)+(n2:ncpus=4)+(n1:ncpus=1:mem=1gb)+"
                         "(n3[0]:ncpus=2:mem=100b+n3[1]:ncpus=3:mem=1kb)";
    struct pbs_share s = share_of(hosts, chunks, "n1.domain");
    assert_int_equal(s.cores, 3);
    assert_int_equal(s.gpus, 1);
    assert_int_equal(s.memory, UINT64_C(2) << 30);
    s = share_of(hosts, chunks, "n2");
    assert_int_equal(s.cores, 4);
    assert_int_equal(s.memory, 0);
    s = share_of(hosts, chunks, "n3");
    assert_int_equal(s.cores, 5);
    assert_int_equal(s.memory, 1124);
    assert_int_equal(share_of(hosts, chunks, "n").cores, 0);
    assert_int_equal(share_of(hosts, chunks, "n10").cores, 0);
    /* a chunk without memory has no limit, and so the host has none */
    assert_int_equal(share_of("n1:15002/0+n1:15002/1", "(n1:mem=1gb)+(n1:ncpus=1)", "n1").memory,
                     0);
}

static void chunks_that_are_not_understood_say_nothing(void **state)
{
    static const char *const chunks[] = {"",
                                         "n1:ncpus=2",
                                         "(n1:ncpus=2",
                                         "(n1:ncpus=2)+",
                                         "(n1:ncpus=2)(n1:ncpus=2)",
                                         "(n1:ncpus=2)+(n1:ncpus=2)"};
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++)
        assert_int_equal(share_of("n1:15002/0", chunks[i], "n1").cores, 0);
    assert_int_equal(share_of(NULL, "(n1:ncpus=2)", "n1").cores, 0);
    static const char *const sizes[] = {"(n1:mem=)", "(n1:mem=-1kb)", "(n1:mem=1xb)", "(n1:mem=1k)",
                                        "(n1:mem=99999999999pb)"};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_int_equal(share_of("n1:15002/0", sizes[i], "n1").memory, 0);
}

static void a_task_that_runs_has_a_session(void **state)
{
    struct file f = task(123, 1);
    assert_int_equal(pbs_task_session(f.bytes, f.n), 123);
    assert_int_equal(pbs_task_session(f.bytes, f.n - 1), 0);
    assert_int_equal(pbs_task_session(f.bytes, 92), 0);
    f = task(123, 2);
    assert_int_equal(pbs_task_session(f.bytes, f.n), 0);
    f = task(-5, 1);
    assert_int_equal(pbs_task_session(f.bytes, f.n), 0);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void needs_root(void)
{
    if (geteuid() != 0)
        skip();
}

/* A process of this user in a session of its own. */
static pid_t start_task(uid_t uid)
{
    int ready[2];
    char none;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout) || setsid() < 0 || setresuid(uid, uid, uid) < 0)
            _exit(1);
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &none, 1), 0);
    close(ready[0]);
    return pid;
}

static void end_task(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int prove(pid_t pid, uid_t uid, struct evidence *ret)
{
    struct error e;
    struct task_evidence t;
    struct asker who = {.pid = pid, .uid = uid};
    int rc = evidence_pbs.prove(&conf, &who, &t, &e);
    if (rc == 0)
        *ret = t.evidence;
    else
        assert_string_equal(e.text, "nothing that pbs_mom wrote on this host shows that this "
                                    "process is in a job");
    return rc;
}

static uid_t user(void)
{
    const struct passwd *pw = getpwnam("nobody");
    assert_non_null(pw);
    return pw->pw_uid;
}

/* A job of nobody's with one task. */
static pid_t start_job(int32_t status)
{
    char host[64] = "", hosts[80], chunks[120];
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    host[strcspn(host, ".")] = 0;
    snprintf(hosts, sizeof(hosts), "%s/0*2", host);
    snprintf(chunks, sizeof(chunks), "(%s:ncpus=2:mem=64mb:ngpus=1)", host);
    struct file job = whole(2200, "nobody", hosts, chunks);
    pid_t pid = start_task(user());
    struct file one = task(pid, status);
    write_file("7.server.JB", &job);
    write_file("7.server.TK/00000001", &one);
    return pid;
}

static void who_is_in_the_session_of_a_task_is_in_its_job(void **state)
{
    struct evidence e;
    needs_root();
    pid_t pid = start_job(1), other = start_task(user());
    assert_int_equal(prove(pid, user(), &e), 0);
    assert_string_equal(e.name, "7");
    assert_int_equal(e.uid, user());
    assert_int_equal(e.cores, 2);
    assert_int_equal(e.gpus, 1);
    assert_true(e.limits.memory.set && e.limits.memory.value == 64 << 20);
    assert_true(e.limits.swap.set && e.limits.swap.value == 0);
    assert_int_equal(evidence_pbs.is_known(&conf, "7"), 1);
    assert_int_equal(evidence_pbs.is_known(&conf, "8"), 0);
    /* another user there, another session of the user's, and root */
    assert_int_equal(prove(pid, user() - 1, &e), -1);
    assert_int_equal(prove(other, user(), &e), -1);
    assert_int_equal(prove(getpid(), 0, &e), -1);
    end_task(other);
    end_task(pid);
    assert_int_equal(prove(pid, user(), &e), -1);
}

static void a_task_that_has_ended_is_none(void **state)
{
    struct evidence e;
    needs_root();
    pid_t pid = start_job(2);
    assert_int_equal(prove(pid, user(), &e), -1);
    end_task(pid);
}

static void files_where_others_write_are_none(void **state)
{
    static const char *const names[] = {"", "/7.server.TK", "/7.server.TK/00000001",
                                        "/7.server.JB"};
    char path[160];
    struct stat st;
    struct evidence e;
    needs_root();
    pid_t pid = start_job(1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", jobs, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(chmod(path, st.st_mode | 020), 0);
        assert_int_equal(prove(pid, user(), &e), -1);
        assert_int_equal(chmod(path, st.st_mode & 07777), 0);
        assert_int_equal(chown(path, user(), (gid_t)-1), 0);
        assert_int_equal(prove(pid, user(), &e), -1);
        assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    }
    assert_int_equal(prove(pid, user(), &e), 0);
    end_task(pid);
}

static void a_file_of_another_job_is_none(void **state)
{
    struct evidence e;
    needs_root();
    pid_t pid = start_job(1);
    struct file job = whole(2200, "nobody", "n1:15002/0", "(n1:ncpus=1)");
    job.bytes[24] = '8'; /* what it says is not its name */
    write_file("7.server.JB", &job);
    assert_int_equal(prove(pid, user(), &e), -1);
    job = whole(2200, "no such user", "n1:15002/0", "(n1:ncpus=1)");
    write_file("7.server.JB", &job);
    assert_int_equal(prove(pid, user(), &e), -1);
    job = whole(2200, "root", "n1:15002/0", "(n1:ncpus=1)");
    write_file("7.server.JB", &job);
    assert_int_equal(prove(pid, user(), &e), -1);
    job = whole(2200, "nobody", "n1:15002/0", "(n1:ncpus=1)");
    memcpy(memmem(job.bytes, job.n, "exec_host2", 10), "exec_host9", 10); /* not which hosts */
    write_file("7.server.JB", &job);
    assert_int_equal(prove(pid, user(), &e), -1);
    end_task(pid);
}

static void names_of_jobs_are_short(void **state)
{
    static const struct {
        const char *file, *name;
        int is_known;
    } cases[] = {{"9[4].server.JB", "9.4", 1}, {"9[].server.JB", "9.", 0},    {"10.JB", "10", 1},
                 {"x.server.JB", "x", 0},      {"11[4.server.JB", "11.4", 0}, {"12x.JB", "12", 0}};
    const struct file f = {.n = 0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(cases[i].file, &f);
        /* where it is not root's own, nobody can say */
        assert_int_equal(evidence_pbs.is_known(&conf, cases[i].name),
                         geteuid() == 0 ? cases[i].is_known : -1);
    }
}

/* Of a job that is not among those that were read nobody can say that it is not there. */
static void a_directory_with_too_many_entries_says_of_no_job_that_it_has_gone(void **state)
{
    char name[160];
    needs_root();
    for (int remove = 0; remove < 2; remove++) {
        for (int i = 0; i < 4200; i++) {
            snprintf(name, sizeof(name), "%s/file%d", jobs, i);
            int fd = remove ? unlink(name) : creat(name, 0600);
            assert_true(fd >= 0);
            if (!remove)
                close(fd);
        }
        assert_int_equal(evidence_pbs.is_known(&conf, "16"), remove ? 0 : -1);
    }
}

static int make_home(void **state)
{
    char command[256];
    snprintf(home, sizeof(home), "/tmp/mprun-test.XXXXXX");
    if (!mkdtemp(home))
        return -1;
    snprintf(jobs, sizeof(jobs), "%s/mom_priv/jobs", home);
    snprintf(command, sizeof(command), "mkdir -p -m 751 %s && mkdir -m 700 %s/7.server.TK", jobs,
             jobs);
    return system(command);
}

static int remove_home(void **state)
{
    char command[100];
    snprintf(command, sizeof(command), "rm -r %s", home);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_are_read),
        cmocka_unit_test(what_is_malformed_is_refused),
        cmocka_unit_test(chunks_of_a_host_are_added),
        cmocka_unit_test(chunks_that_are_not_understood_say_nothing),
        cmocka_unit_test(a_task_that_runs_has_a_session),
        cmocka_unit_test(who_is_in_the_session_of_a_task_is_in_its_job),
        cmocka_unit_test(a_task_that_has_ended_is_none),
        cmocka_unit_test(files_where_others_write_are_none),
        cmocka_unit_test(a_file_of_another_job_is_none),
        cmocka_unit_test(names_of_jobs_are_short),
        cmocka_unit_test(a_directory_with_too_many_entries_says_of_no_job_that_it_has_gone),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
