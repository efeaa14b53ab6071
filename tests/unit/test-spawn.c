/* SPDX-License-Identifier: BSD-3-Clause */
/* test-spawn.c - a new program gets what was prepared for it and nothing else; the step that failed
 * is known by name
 *
 * SPAWN_LIMIT and SPAWN_PRIORITY are not made to fail: limits are cut to what is allowed, and a
 * worse priority always is. */
#include "common/processes/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/fdio.h"
#include "tests/unit/patience.h"

static char *no_env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};

/* What `script` prints, run by a shell that s describes; its exit code in *ret_code. */
static char *output_of(struct spawn *s, const char *script, int *ret_code)
{
    static char text[65536];
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
    struct error e;
    int p[2], status;
    size_t n = 0;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    s->path = "/bin/sh";
    s->argv = argv;
    s->envp = s->envp ? s->envp : no_env;
    s->fds[1] = p[1];
    pid_t pid = spawn_process(s, NULL, &e);
    if (pid < 0)
        fail_msg("%s", e.text);
    close(p[1]);
    for (ssize_t got; (got = read(p[0], text + n, sizeof(text) - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = 0;
    close(p[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (ret_code)
        *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return text;
}

static struct spawn plain(void)
{
    struct spawn s;
    spawn_init(&s);
    return s;
}

/* ---- what it gets
 * -------------------------------------------------------------------------------- */

static void arguments_and_environment_are_exact(void **state)
{
    char *argv[] = {"sh",      "-c", "printf '%s|' \"$0\" \"$@\"; env | sort", "zero", "", "a b",
                    "caf\xe9", NULL};
    char *envp[] = {"A=1", "NOT_UTF8=\xff", "PATH=/usr/bin:/bin", NULL};
    struct spawn s = plain();
    char text[1000];
    int p[2];
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    s.path = "/bin/sh";
    s.argv = argv;
    s.envp = envp;
    s.fds[1] = p[1];
    pid_t pid = spawn_process(&s, NULL, NULL);
    assert_true(pid > 0);
    close(p[1]);
    waitpid(pid, NULL, 0);
    ssize_t n = read(p[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    close(p[0]);
    assert_memory_equal(text, "zero||a b|caf\xe9|A=1\nNOT_UTF8=\xff\n", 28);
}

static void no_other_descriptors_are_open(void **state)
{
    int fds[20];
    struct spawn s = plain();
    for (int i = 0; i < 20; i++)
        fds[i] = open("/dev/null", O_RDWR); /* without close-on-exec */
    int far = fcntl(fds[0], F_DUPFD, 900);
    assert_string_equal(output_of(&s, "ls /proc/self/fd | tr '\\n' ' '", NULL), "0 1 2 3 ");
    /* those that are to be kept are, under their own numbers; 3 is what ls opens */
    int keep[] = {far, fds[7]};
    char expected[100];
    s.keep_fds = keep;
    s.nkeep_fds = 2;
    snprintf(expected, sizeof(expected), "0 1 2 3 %d %d ", fds[7], far);
    assert_string_equal(output_of(&s, "ls /proc/self/fd | sort -n | tr '\\n' ' '", NULL), expected);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
    close(far);
}

static void signals_are_as_at_login(void **state)
{
    struct spawn s = plain();
    sigset_t block, before, after;
    sigemptyset(&block);
    sigaddset(&block, SIGTERM);
    sigaddset(&block, SIGCHLD);
    sigaddset(&block, SIGRTMIN + 3);
    sigprocmask(SIG_BLOCK, &block, &before);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    static const unsigned long ignore[8] = {1}; /* one that libc keeps for itself: as inherited */
    assert_int_equal(syscall(SYS_rt_sigaction, 33, ignore, NULL, 8), 0);
    char *text = output_of(&s, "grep -E 'Sig(Blk|Ign)' /proc/self/status", NULL);
    assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    sigprocmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), 1); /* the caller's stay as they were */
    struct sigaction now;
    sigaction(SIGPIPE, NULL, &now);
    assert_true(now.sa_handler == SIG_IGN);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
}

static void everything_else_is_set(void **state)
{
    struct spawn s = plain();
    struct rlimit limits[RLIM_NLIMITS], hard;
    unsigned char which[RLIM_NLIMITS] = {0};
    char expected[100];
    getrlimit(RLIMIT_NOFILE, &hard);
    limits[RLIMIT_NOFILE] = (struct rlimit){123, RLIM_INFINITY};
    which[RLIMIT_NOFILE] = 1;
    limits[RLIMIT_CORE] = (struct rlimit){0, 0};
    which[RLIMIT_CORE] = 1;
    s.limits = limits;
    s.limit_set = which;
    s.umask = 027;
    s.directory = "/usr";
    s.set_nice = 1;
    s.nice = getpriority(PRIO_PROCESS, 0) + 3;
    snprintf(expected, sizeof(expected), "/usr\n0027\n123\n%llu\n0\n0\n%d\n",
             (unsigned long long)hard.rlim_max, s.nice);
    assert_string_equal(
        output_of(&s, "pwd; umask; ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hc; nice", NULL),
        expected);
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    assert_int_equal(now.rlim_cur, hard.rlim_cur); /* not ours */
}

static void limits_are_cut_to_the_hard_ones(void **state)
{
    struct spawn s = plain();
    struct rlimit limits[RLIM_NLIMITS], hard;
    char expected[40];
    for (int i = 0; i < RLIM_NLIMITS; i++)
        limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(RLIMIT_NOFILE, &hard);
    s.limits = limits;
    snprintf(expected, sizeof(expected), "%llu\n", (unsigned long long)hard.rlim_max);
    assert_string_equal(output_of(&s, "ulimit -n", NULL), expected);
}

static void sessions_and_groups_are_made(void **state)
{
    struct spawn s = plain();
    s.new_session = 1;
    const char *script = "set -- $(cat /proc/$$/stat); [ $$ = $5 ] && echo group; "
                         "[ $$ = $6 ] && echo session; :";
    assert_string_equal(output_of(&s, script, NULL), "group\nsession\n");
    s = plain();
    s.new_pgrp = 1;
    assert_string_equal(output_of(&s, script, NULL), "group\n");
    s = plain();
    assert_string_equal(output_of(&s, script, NULL), "");
}

static void descriptors_may_be_exchanged(void **state)
{
    struct spawn s = plain();
    int in[2], out[2], saved[3];
    char text[20] = "";
    char *argv[] = {"sh", "-c", "read x; echo out $x; echo err >&2", NULL};
    for (int i = 0; i < 3; i++)
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], "hello\n", 6), 6);
    dup2(out[1], 0); /* what is to be 1 is 0, what is to be 0 is 1 */
    dup2(in[0], 1);
    s.path = "/bin/sh";
    s.argv = argv;
    s.envp = no_env;
    s.fds[0] = 1;
    s.fds[1] = 0;
    s.fds[2] = 0;
    pid_t pid = spawn_process(&s, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        dup2(saved[i], i);
        close(saved[i]);
    }
    assert_true(pid > 0);
    close(out[1]);
    waitpid(pid, NULL, 0);
    assert_int_equal(read(out[0], text, sizeof(text) - 1), 14);
    assert_string_equal(text, "out hello\nerr\n");
    close(in[0]);
    close(in[1]);
    close(out[0]);
}

static void no_descriptor_is_dev_null(void **state)
{
    struct spawn s = plain();
    assert_string_equal(output_of(&s, "readlink /proc/self/fd/0; readlink /proc/self/fd/2", NULL),
                        "/dev/null\n/dev/null\n");
}

static void a_child_dies_with_its_parent(void **state)
{
    int p[2];
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    pid_t middle = fork();
    if (middle == 0) {
        char *argv[] = {"sleep", "1000", NULL};
        struct spawn s = plain();
        s.path = "/bin/sleep";
        s.argv = argv;
        s.envp = no_env;
        s.fds[1] = p[1]; /* held as long as it lives */
        s.parent_death_signal = SIGKILL;
        _exit(spawn_process(&s, NULL, NULL) < 0);
    }
    close(p[1]);
    int status;
    assert_int_equal(waitpid(middle, &status, 0), middle);
    assert_int_equal(status, 0);
    char c;
    alarm(patience(20));
    assert_int_equal(read(p[0], &c, 1), 0); /* its end of the pipe is closed: it has died */
    alarm(0);
    close(p[0]);
}

/* ---- what fails
 * ---------------------------------------------------------------------------------- */

static void fails(struct spawn *s, enum spawn_step step, int code, const char *word)
{
    char *argv[] = {"true", NULL};
    struct spawn_failure f = {.code = -1};
    struct error e = {0};
    s->path = s->path ? s->path : "/bin/true";
    s->argv = s->argv ? s->argv : argv;
    s->envp = no_env;
    assert_int_equal(spawn_process(s, &f, &e), -1);
    assert_int_equal(f.step, step);
    assert_int_equal(f.code, code);
    if (!strstr(e.text, word))
        fail_msg("'%s' does not say '%s'", e.text, word);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to be reaped */
}

static void exec_fails_with_its_reason(void **state)
{
    char script[] = "/tmp/mprun-test-spawn.XXXXXX";
    int fd = mkstemp(script);
    struct spawn s = plain();
    s.path = "/is/not/there";
    fails(&s, SPAWN_EXEC, ENOENT, "execute '/is/not/there': No such file");
    s.path = script;
    fchmod(fd, 0600);
    fails(&s, SPAWN_EXEC, EACCES, "Permission denied");
    fchmod(fd, 0700);
    assert_int_equal(write(fd, "no text\0", 8), 8);
    close(fd);
    fails(&s, SPAWN_EXEC, ENOEXEC, "Exec format error");
    unlink(script);
    s.path = "/";
    fails(&s, SPAWN_EXEC, EACCES, "execute '/'");
}

static void too_long_arguments_are_told(void **state)
{
    struct spawn s = plain();
    size_t n = 4 * 1024 * 1024;
    char *big = malloc(n);
    char *argv[] = {"true", big, NULL};
    memset(big, 'x', n);
    big[n - 1] = 0;
    s.argv = argv;
    fails(&s, SPAWN_EXEC, E2BIG, "too long");
    free(big);
}

static void a_directory_that_is_not_there_is_told(void **state)
{
    struct spawn s = plain();
    s.directory = "/is/not/there";
    fails(&s, SPAWN_DIRECTORY, ENOENT, "change to directory '/is/not/there'");
}

static void cores_that_are_not_there_are_told(void **state)
{
    struct spawn s = plain();
    struct idset set = {0};
    idset_add(&set, 1023);
    s.affinity = &set;
    fails(&s, SPAWN_AFFINITY, EINVAL, "bind it to its cores");
    idset_free(&set);
}

static void descriptors_that_are_closed_are_told(void **state)
{
    struct spawn s = plain();
    s.fds[1] = 987;
    fails(&s, SPAWN_DESCRIPTORS, EBADF, "input and output");
    int keep = 987;
    s = plain();
    s.keep_fds = &keep;
    s.nkeep_fds = 1;
    fails(&s, SPAWN_DESCRIPTORS, EBADF, "input and output");
}

static void a_session_that_cannot_be_is_told(void **state)
{
    struct spawn s = plain();
    s.new_session = 1;
    s.new_pgrp = 1; /* a session's leader cannot change its group */
    fails(&s, SPAWN_SESSION, EPERM, "session");
}

static void a_cgroup_that_cannot_be_entered_is_told(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), dir = open("/tmp", O_PATH | O_CLOEXEC);
    struct spawn s = plain();
    s.cgroup_procs_fds = &fd;
    s.ncgroup_procs_fds = 1;
    fails(&s, SPAWN_CGROUP, EBADF, "enter its cgroup");
    s = plain();
    s.cgroup_fd = dir; /* no cgroup at all */
    char *argv[] = {"true", NULL};
    struct spawn_failure f;
    s.path = "/bin/true";
    s.argv = argv;
    s.envp = no_env;
    assert_int_equal(spawn_process(&s, &f, NULL), -1);
    assert_int_equal(f.step, SPAWN_CGROUP);
    /* then by writing, where that is possible */
    s.cgroup_fallback_fd = fd;
    assert_int_equal(spawn_process(&s, &f, NULL), -1);
    assert_int_equal(f.step, SPAWN_CGROUP);
    assert_int_equal(f.code, EBADF);
    close(fd);
    close(dir);
}

static void a_user_without_processes_is_told(void **state)
{
    if (geteuid() != 0)
        skip(); /* a limit of processes counts all of the user's */
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit one = {1, 1};
        struct spawn_failure f = {.code = 0};
        struct error e;
        char *argv[] = {"true", NULL};
        struct spawn s = plain();
        s.path = "/bin/true";
        s.argv = argv;
        s.envp = no_env;
        if (setgroups(0, NULL) < 0 || setresuid(64999, 64999, 64999) < 0 ||
            setrlimit(RLIMIT_NPROC, &one) < 0)
            _exit(2);
        _exit(spawn_process(&s, &f, &e) == -1 && f.step == SPAWN_FORK && f.code == EAGAIN ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void failures_leave_no_descriptors(void **state)
{
    struct spawn s = plain();
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    s.path = "/is/not/there";
    for (int i = 0; i < 50; i++)
        fails(&s, SPAWN_EXEC, ENOENT, "there");
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(after, before + 1);
    close(before);
    close(after);
}

/* ---- finding the program
 * --------------------------------------------------------------------------- */

static char top[] = "/tmp/mprun-test-spawn.XXXXXX";

static void make_file(const char *name, mode_t mode)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    fchmod(fd, mode);
    close(fd);
}

static void resolves(const char *name, const char *path, const char *expected, int code)
{
    char variable[300];
    char *envp[] = {variable, NULL}, *got = NULL;
    struct error e = {0};
    snprintf(variable, sizeof(variable), "PATH=%s", path);
    int r = spawn_resolve(name, envp, top, &got, &e);
    if (expected) {
        assert_int_equal(r, 0);
        assert_string_equal(got, expected);
        free(got);
    } else {
        assert_int_equal(r, -1);
        assert_int_equal(e.code, code);
        assert_true(strlen(e.text) > 10);
    }
}

static void programs_are_found_as_by_execvp(void **state)
{
    char sub[200];
    assert_non_null(mkdtemp(top));
    snprintf(sub, sizeof(sub), "%s/dir", top);
    assert_int_equal(mkdir(sub, 0700), 0);
    make_file("good", 0700);
    make_file("plain", 0600);
    make_file("dir/good", 0700);
    resolves("/bin/sh", "", "/bin/sh", 0);
    resolves("./good", "", "./good", 0); /* relative to the program's directory */
    resolves("dir/good", "/bin", "dir/good", 0);
    resolves("good", "/bin:dir:.", "dir/good", 0);
    resolves("good", "/bin:", "good", 0); /* an empty part is the directory itself */
    resolves("sh", "/nowhere:/bin", "/bin/sh", 0);
    snprintf(sub, sizeof(sub), "%s/dir/sh", top); /* the name of another, but this program */
    assert_int_equal(symlink("/proc/self/exe", sub), 0);
    resolves("sh", "dir:/bin", "/bin/sh", 0);
    resolves("./missing", "/bin", NULL, ENOENT);
    resolves("missing", "/bin:.", NULL, ENOENT);
    resolves("./plain", "/bin", NULL, EACCES);
    resolves("plain", "/bin:.", NULL, EACCES);
    resolves("./dir", "/bin", NULL, EISDIR);
    resolves("dir", ".", NULL, ENOENT); /* execvp() would say EACCES */
    resolves("", "/bin", NULL, ENOENT);
    snprintf(sub, sizeof(sub), "rm -r '%s'", top);
    assert_int_equal(system(sub), 0);
}

static void each_step_has_words(void **state)
{
    for (int s = SPAWN_FORK; s <= SPAWN_EXEC; s++)
        assert_true(strlen(spawn_step_text((enum spawn_step)s)) > 5);
    assert_non_null(spawn_step_text((enum spawn_step)99));
}

/* Says its path, and ends with 7 if no descriptor but the first three is open, in a group of its
 * own. */
static int say_path(const char *path)
{
    bool is_as_told = getpgrp() == getpid() && fcntl(3, F_GETFD) < 0;
    ssize_t n = write(STDOUT_FILENO, path, strlen(path));
    return is_as_told && n > 0 ? 7 : 1;
}

static void a_copy_of_this_process_runs_a_function(void **state)
{
    struct error err = {0};
    struct spawn s;
    int ends[3], status;
    char said[16] = "";
    int other = fcntl(STDIN_FILENO, F_DUPFD, 3);
    spawn_init(&s);
    s.path = "somewhere";
    s.run = say_path;
    s.new_pgrp = 1;
    s.fds[1] = SPAWN_PIPE;
    pid_t pid = spawn_piped(s, ends, &err);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 7 << 8);
    assert_int_equal(read(ends[1], said, sizeof(said) - 1), 9);
    assert_string_equal(said, "somewhere");
    close(ends[1]);
    close(other);
}

/* Starts a program again and again. Returns how often that did what it should not. */
static int start_often(const char *path, bool is_there)
{
    char *argv[] = {(char *)(uintptr_t)path, NULL};
    struct spawn s;
    int nwrong = 0;
    spawn_init(&s);
    s.path = path;
    s.argv = argv;
    s.envp = no_env;
    for (int i = 0; i < 300; i++) {
        pid_t pid = spawn_process(&s, NULL, NULL);
        nwrong += is_there != (pid > 0);
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    return nwrong;
}

static int start_what_is_not_there(const char *path)
{
    return start_often(path, false) > 0;
}

static void a_copy_and_this_process_start_programs_at_the_same_time(void **state)
{
    struct spawn s;
    int status;
    spawn_init(&s);
    s.path = "/nonexistent/program";
    s.run = start_what_is_not_there;
    pid_t pid = spawn_process(&s, NULL, NULL);
    assert_true(pid > 0);
    assert_int_equal(start_often("/bin/true", true), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_and_environment_are_exact),
        cmocka_unit_test(no_other_descriptors_are_open),
        cmocka_unit_test(signals_are_as_at_login),
        cmocka_unit_test(everything_else_is_set),
        cmocka_unit_test(limits_are_cut_to_the_hard_ones),
        cmocka_unit_test(sessions_and_groups_are_made),
        cmocka_unit_test(descriptors_may_be_exchanged),
        cmocka_unit_test(no_descriptor_is_dev_null),
        cmocka_unit_test(a_child_dies_with_its_parent),
        cmocka_unit_test(exec_fails_with_its_reason),
        cmocka_unit_test(too_long_arguments_are_told),
        cmocka_unit_test(a_directory_that_is_not_there_is_told),
        cmocka_unit_test(cores_that_are_not_there_are_told),
        cmocka_unit_test(descriptors_that_are_closed_are_told),
        cmocka_unit_test(a_session_that_cannot_be_is_told),
        cmocka_unit_test(a_cgroup_that_cannot_be_entered_is_told),
        cmocka_unit_test(a_user_without_processes_is_told),
        cmocka_unit_test(failures_leave_no_descriptors),
        cmocka_unit_test(programs_are_found_as_by_execvp),
        cmocka_unit_test(each_step_has_words),
        cmocka_unit_test(a_copy_of_this_process_runs_a_function),
        cmocka_unit_test(a_copy_and_this_process_start_programs_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
