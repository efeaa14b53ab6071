/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that did not ask, and what proves whose they are: these here, with this program in the
 * place of a manager's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-daemon/watch/proof.h"
#include "tests/unit/patience.h"

enum { GROUP = 65432, OTHER_UID = 65533 };

/* A child that waits until it is killed; that it runs the program is known by the pipe that exec
 * closes. mounts: the namespace it is in; NULL: ours. */
static pid_t start_in(const char *mounts, uid_t uid, const char *program, char *const env[])
{
    int p[2];
    char byte;
    char *const argv[] = {"sleeper", "1000", NULL};
    gid_t groups[] = {7, GROUP};
    assert_return_code(pipe2(p, O_CLOEXEC), errno);
    pid_t pid = fork();
    assert_return_code(pid, errno);
    if (pid == 0) {
        alarm(patience(60));
        int ns = mounts ? open(mounts, O_RDONLY | O_CLOEXEC) : -1;
        if (mounts && (ns < 0 || setns(ns, CLONE_NEWNS) < 0))
            _exit(1);
        if (uid && (setgroups(2, groups) < 0 || setresuid(uid, uid, uid) < 0))
            _exit(1);
        if (program)
            execve(program, argv, env);
        (void)!write(p[1], "x", 1);
        pause();
        _exit(1);
    }
    close(p[1]);
    assert_int_equal(read(p[0], &byte, 1), program ? 0 : 1);
    close(p[0]);
    return pid;
}

static pid_t start(uid_t uid, const char *program, char *const env[])
{
    return start_in(NULL, uid, program, env);
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct program self(void)
{
    struct program p = {.path = "/proc/self/exe"};
    program_look(&p);
    return p;
}

static void a_process_is_read_as_it_is(void **state)
{
    struct process p;
    struct program own = self();
    pid_t pid = start(0, NULL, NULL);
    assert_return_code(process_open(pid, &p), errno);
    assert_int_equal(p.pid, pid);
    assert_int_equal(p.parent, getpid());
    assert_int_equal(p.real_uid, getuid());
    assert_int_equal(p.uid, geteuid());
    assert_true(process_is_alive(&p));
    assert_true(process_runs(&p, &own));
    stop(pid);
    assert_false(process_is_alive(&p));
    assert_false(process_runs(&p, &own));
    process_close(&p);
    assert_int_equal(process_open(pid, &p), -1);
}

static void a_program_is_its_file_and_not_its_name(void **state)
{
    struct program own = self(), sh = {.path = "/bin/sh"}, none = {.path = "/nowhere/sge_shepherd"};
    struct program its;
    program_look(&sh);
    program_look(&none);
    assert_return_code(program_of(getpid(), &its), errno);
    assert_true(program_is(&its, &own));
    assert_false(program_is(&its, &sh));
    assert_false(program_is(&none, &none)); /* what is not there is nothing's */
}

static void needs_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void who_is_of_another_user_is_no_child_of_a_daemon(void **state)
{
    needs_root();
    struct process p;
    struct program own = self(), sh = {.path = "/bin/sh"};
    program_look(&sh);
    pid_t pid = start(OTHER_UID, NULL, NULL);
    assert_return_code(process_open(pid, &p), errno);
    assert_int_equal(p.real_uid, OTHER_UID);
    assert_true(process_has_group(&p, GROUP) && process_has_group(&p, 7));
    assert_false(process_has_group(&p, GROUP + 1));
    assert_true(process_is_child_of(&p, &own)); /* we are root, and it is ours */
    assert_false(process_is_child_of(&p, &sh));
    stop(pid);
    assert_false(process_is_child_of(&p, &own)); /* not any more */
    process_close(&p);
}

/* ---- a file system that does not answer ------------------------------------------------------ */

enum { FILE_NODE = 2, REQUEST_MAX = 1 << 17 };

static volatile sig_atomic_t silent;

/* Who waits for an answer is let go with an error when the server ends, and by nothing before. */
static void fall_silent(int signo)
{
    silent = 1;
    alarm(patience(10));
}

static void answer(int fd, uint64_t unique, int error, const void *body, size_t n)
{
    char out[REQUEST_MAX];
    struct fuse_out_header h = {.len = (uint32_t)(sizeof(h) + n), .error = error, .unique = unique};
    memcpy(out, &h, sizeof(h));
    if (n > 0)
        memcpy(out + sizeof(h), body, n);
    if (write(fd, out, h.len) < 0 && errno != ENOENT) /* nobody waits for it any more */
        _exit(3);
}

static struct fuse_attr attributes(uint64_t node, int file)
{
    struct stat st;
    if (fstat(file, &st) < 0)
        _exit(4);
    struct fuse_attr a = {.ino = node, .nlink = 1, .blksize = 4096};
    a.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755;
    a.size = node == FILE_NODE ? (uint64_t)st.st_size : 0;
    return a;
}

static void serve_read(int fd, const char *request, uint64_t unique, int file)
{
    struct fuse_read_in in;
    char data[REQUEST_MAX / 2];
    memcpy(&in, request + sizeof(struct fuse_in_header), sizeof(in));
    size_t want = in.size < sizeof(data) ? in.size : sizeof(data);
    ssize_t n = pread(file, data, want, (off_t)in.offset);
    answer(fd, unique, n < 0 ? -EIO : 0, data, n < 0 ? 0 : (size_t)n);
}

/* One file, which is the given one; what is known of it is to be asked for each time. */
static void serve(int fd, const char *request, int file)
{
    struct fuse_in_header h;
    memcpy(&h, request, sizeof(h));
    struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
    struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE, file)};
    struct fuse_attr_out attr = {.attr = attributes(h.nodeid, file)};
    struct fuse_open_out opened = {.fh = 0};
    if (h.opcode == FUSE_INIT)
        answer(fd, h.unique, 0, &init, sizeof(init));
    else if (h.opcode == FUSE_LOOKUP)
        answer(fd, h.unique, 0, &entry, sizeof(entry));
    else if (h.opcode == FUSE_GETATTR && !silent)
        answer(fd, h.unique, 0, &attr, sizeof(attr));
    else if (h.opcode == FUSE_OPEN)
        answer(fd, h.unique, 0, &opened, sizeof(opened));
    else if (h.opcode == FUSE_READ)
        serve_read(fd, request, h.unique, file);
    else if (h.opcode != FUSE_GETATTR && h.opcode != FUSE_FORGET && h.opcode != FUSE_BATCH_FORGET &&
             h.opcode != FUSE_INTERRUPT)
        answer(fd, h.unique, -ENOSYS, NULL, 0);
}

/* In mounts of its own; ready is closed when it is there, with a byte written where it cannot be.
 */
static void be_server(int ready, const char *dir)
{
    char options[96];
    static char request[REQUEST_MAX + 4096];
    struct sigaction sa = {.sa_handler = fall_silent};
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), file = open("/bin/sleep", O_RDONLY | O_CLOEXEC);
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
    alarm(patience(60));
    sigaction(SIGUSR1, &sa, NULL);
    if (fd < 0 || file < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("silent", dir, "fuse", 0, options) < 0) {
        (void)!write(ready, "x", 1);
        _exit(1);
    }
    close(ready);
    for (;;) {
        ssize_t n = read(fd, request, sizeof(request));
        if (n > 0)
            serve(fd, request, file);
        else if (errno != EINTR && errno != EAGAIN && errno != ENOENT)
            _exit(2);
    }
}

static pid_t start_server(const char *dir)
{
    int p[2];
    char byte;
    assert_return_code(pipe2(p, O_CLOEXEC), errno);
    pid_t pid = fork();
    assert_return_code(pid, errno);
    if (pid == 0) {
        close(p[0]);
        be_server(p[1], dir);
    }
    close(p[1]);
    int failed = read(p[0], &byte, 1) != 0;
    close(p[0]);
    if (!failed)
        return pid;
    stop(pid);
    return -1;
}

static void a_program_is_known_where_its_file_system_does_not_answer(void **state)
{
    needs_root();
    char dir[] = "/tmp/test-process.XXXXXX", path[64], mounts[64];
    struct program its, own = self();
    struct process p;
    assert_non_null(mkdtemp(dir));
    pid_t server = start_server(dir);
    if (server < 0) {
        rmdir(dir);
        skip(); /* no FUSE here */
    }
    snprintf(path, sizeof(path), "%s/sleeper", dir);
    snprintf(mounts, sizeof(mounts), "/proc/%d/ns/mnt", (int)server);
    pid_t pid = start_in(mounts, 0, path, (char *[]){NULL});
    assert_return_code(kill(server, SIGUSR1), errno);
    assert_return_code(process_open(pid, &p), errno);
    int rc = program_of(pid, &its), runs_own = process_runs(&p, &own);
    process_close(&p);
    stop(pid);
    stop(server);
    rmdir(dir);
    assert_int_equal(rc, 0);
    assert_int_equal(its.ino, FILE_NODE);
    assert_false(runs_own);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static struct conf_rule rule = {.name = "toy", .job = "TOY_JOB", .owner = "TOY_OWNER"};

static int prove(uid_t uid, char *job, char *owner, struct reader_request *ret, struct error *err)
{
    struct process p;
    struct program own = self(), sleeper = {.path = "/bin/sleep"};
    char *env[] = {"TOY_JOBS=no", job, "PATH=/bin", owner, NULL};
    program_look(&sleeper);
    pid_t pid = start(uid, sleeper.path, env);
    int rc = process_open(pid, &p);
    assert_int_equal(rc, 0);
    assert_true(process_runs(&p, &sleeper));
    rc = proof_by_rule(&rule, &own, &p, ret, err);
    process_close(&p);
    stop(pid);
    return rc;
}

static void a_daemons_process_says_its_job_and_owner(void **state)
{
    needs_root();
    struct reader_request claim;
    struct error e;
    assert_int_equal(prove(0, "TOY_JOB=17", "TOY_OWNER=65533", &claim, &e), 0);
    assert_string_equal(claim.job, "toy.17");
    assert_string_equal(claim.owner, "65533");
    assert_int_equal(claim.manager, GRANT_SITE);
}

static void what_says_no_job_or_no_owner_is_in_none(void **state)
{
    needs_root();
    static char long_job[] = "TOY_JOB=012345678901234567890123456789012345678901234567890123456789";
    static char long_owner[] =
        "TOY_OWNER=0123456789012345678901234567890123456789012345678901234567890123";
    static char *const wrong[][2] = {{"TOY_JOB=../17", "TOY_OWNER=65533"},
                                     {"TOY_JOB", "TOY_OWNER=65533"},
                                     {long_job, "TOY_OWNER=65533"},
                                     {"TOY_JOB=17", "TOY_OWNER"},
                                     {"TOY_JOB=17", long_owner}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct reader_request claim = {.task = "kept"};
        struct error e = {.text = ""};
        assert_int_equal(prove(0, wrong[i][0], wrong[i][1], &claim, &e), -1);
        assert_string_equal(claim.task, "kept");
        assert_true(e.text[0] != 0);
    }
}

static void a_users_process_proves_nothing(void **state)
{
    needs_root();
    struct reader_request claim;
    struct error e;
    assert_int_equal(prove(OTHER_UID, "TOY_JOB=17", "TOY_OWNER=65533", &claim, &e), -1);
    assert_non_null(strstr(e.text, "started by user 65533"));
}

/* ---- Grid Engine ----------------------------------------------------------------------------- */

/* A child of ours in a directory below a new one. */
static void claim_from(const char *below, const struct program *execd, struct reader_request *ret,
                       int want, struct error *err)
{
    char top[] = "/tmp/test-process.XXXXXX", dir[256], back[4096];
    struct process p;
    struct stat st;
    assert_non_null(mkdtemp(top));
    assert_non_null(getcwd(back, sizeof(back)));
    assert_return_code(chdir(top), errno);
    snprintf(dir, sizeof(dir), "%s", below);
    for (char *part = strtok(dir, "/"); part; part = strtok(NULL, "/"))
        assert_true(mkdir(part, 0755) == 0 && chdir(part) == 0);
    assert_return_code(stat(".", &st), errno);
    pid_t pid = start(0, NULL, NULL);
    assert_return_code(chdir(top), errno);
    assert_return_code(process_open(pid, &p), errno);
    assert_int_equal(proof_of_shepherd(execd, &p, ret, err), want);
    if (want == 0) {
        assert_int_equal(ret->ino, st.st_ino);
        assert_int_equal(ret->dev, st.st_dev);
        assert_int_equal(ret->shepherd, process_is_child_of(&p, execd) ? 0 : pid);
    }
    process_close(&p);
    stop(pid);
    char *remove = NULL;
    assert_true(asprintf(&remove, "rm -r '%s'", top) > 0);
    assert_int_equal(system(remove), 0);
    free(remove);
    assert_return_code(chdir(back), errno);
}

static void a_shepherd_claims_the_task_whose_directory_it_is_in(void **state)
{
    needs_root();
    struct program own = self(), other = {.path = "/bin/sh"};
    struct reader_request claim;
    struct error e;
    program_look(&other);
    claim_from("active_jobs/23.1", &own, &claim, 0, &e);
    assert_string_equal(claim.job, "23.1");
    assert_string_equal(claim.task, "");
    assert_int_equal(claim.shepherd, 0);
    assert_int_equal(claim.manager, GRANT_GRIDENGINE);
    claim_from("active_jobs/23.1/1.n12", &other, &claim, 0, &e);
    assert_string_equal(claim.job, "23.1");
    assert_string_equal(claim.task, "1.n12");
    assert_true(claim.shepherd > 0);
    claim_from("active_jobs/0123456789012345678901234567890123456789012345678901234567890123", &own,
               &claim, -1, &e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_read_as_it_is),
        cmocka_unit_test(a_program_is_its_file_and_not_its_name),
        cmocka_unit_test(who_is_of_another_user_is_no_child_of_a_daemon),
        cmocka_unit_test(a_program_is_known_where_its_file_system_does_not_answer),
        cmocka_unit_test(a_daemons_process_says_its_job_and_owner),
        cmocka_unit_test(what_says_no_job_or_no_owner_is_in_none),
        cmocka_unit_test(a_users_process_proves_nothing),
        cmocka_unit_test(a_shepherd_claims_the_task_whose_directory_it_is_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
