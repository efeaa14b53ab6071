/* SPDX-License-Identifier: BSD-3-Clause */
/* The child shares the caller's memory, as after vfork(), or (where that cannot be had) has a copy
 * of it; in both cases CLONE_VFORK keeps the caller waiting until exec, and a failure is left in
 * memory that both share. Nothing between clone and exec may allocate, lock or call into libc's
 * state. */
#include "common/processes/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/files/fdio.h"
#include "common/processes/sanitizers.h"

#include "common/text/text.h"
#include "common/text/words.h"

#if HAS_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#if HAS_ADDRESS_SANITIZER
#define SHARE_MEMORY 0 /* the sanitizer's shadow does not survive two users of one memory */
#else
#define SHARE_MEMORY CLONE_VM
#endif

enum { CHILD_STACK = 128 * 1024 };

/* Kernel's struct clone_args up to cgroup (5.7); older headers lack the last fields. */
struct clone3_args {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    uint64_t set_tid, set_tid_size, cgroup;
};

struct shared { /* with the child */
    volatile int failed;
    volatile int step;
    volatile int code;
};

struct child {
    const struct spawn *s;
    struct shared *shared;
    char *stack;
    pid_t parent;
    bool write_fallback;    /* the cgroup has to be entered by writing */
    char oom_score_adj[16]; /* as text: the child may not call printf() */
};

void spawn_init(struct spawn *s)
{
    memset(s, 0, sizeof(*s));
    s->fds[0] = s->fds[1] = s->fds[2] = -1;
    s->umask = -1;
    s->cgroup_fd = s->cgroup_fallback_fd = -1;
}

const char *spawn_step_text(enum spawn_step step)
{
    static const char *const text[] = {
        [SPAWN_FORK] = "start a process",
        [SPAWN_CGROUP] = "enter its cgroup",
        [SPAWN_SESSION] = "make a session or process group",
        [SPAWN_LIMIT] = "set its resource limits",
        [SPAWN_PRIORITY] = "set its priority",
        [SPAWN_AFFINITY] = "bind it to its cores",
        [SPAWN_MEMORY] = "set its memory policy",
        [SPAWN_DIRECTORY] = "change to directory",
        [SPAWN_DESCRIPTORS] = "connect its input and output",
        [SPAWN_TRACE] = "have it stopped at its first instruction",
        [SPAWN_EXEC] = "execute",
    };
    return (unsigned)step < sizeof(text) / sizeof(text[0]) ? text[step] : "start";
}

/* ---- in the child ---------------------------------------------------------------------------- */

static void __attribute__((noreturn)) child_fails(struct child *c, enum spawn_step step, int code)
{
    c->shared->step = (int)step;
    c->shared->code = code;
    c->shared->failed = 1;
    _exit(127);
}

static void enter_cgroups(struct child *c)
{
    const struct spawn *s = c->s;
    if (c->write_fallback && write(s->cgroup_fallback_fd, "0", 1) < 0)
        child_fails(c, SPAWN_CGROUP, errno);
    for (size_t i = 0; i < s->ncgroup_procs_fds; i++)
        if (write(s->cgroup_procs_fds[i], "0", 1) < 0)
            child_fails(c, SPAWN_CGROUP, errno);
}

static void set_limits(struct child *c)
{
    const struct spawn *s = c->s;
    for (int r = 0; s->limits && r < RLIM_NLIMITS; r++) {
        struct rlimit now;
        if ((s->limit_set && !s->limit_set[r]) || getrlimit(r, &now) < 0)
            continue;
        struct rlimit want = s->limits[r];
        if (want.rlim_max == RLIM_INFINITY)
            want.rlim_max = now.rlim_max;
        if (want.rlim_cur > want.rlim_max) /* RLIM_INFINITY is the largest value */
            want.rlim_cur = want.rlim_max;
        if (want.rlim_cur == now.rlim_cur && want.rlim_max == now.rlim_max)
            continue;
        if (setrlimit(r, &want) < 0)
            child_fails(c, SPAWN_LIMIT, errno);
    }
}

static void set_oom_score(const char *text)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, text, strlen(text));
    (void)ignored;
    close(fd);
}

static long set_memory_policy(const struct memory_policy *p)
{
    bool has_nodes = false;
    for (size_t i = 0; i < sizeof(p->nodes) / sizeof(p->nodes[0]); i++)
        has_nodes |= p->nodes[i] != 0;
    return syscall(SYS_set_mempolicy, p->mode, has_nodes ? p->nodes : NULL,
                   has_nodes ? MEMORY_NODES_MAX + 1UL : 0UL);
}

static void set_scheduling(struct child *c)
{
    const struct spawn *s = c->s;
    if (s->set_oom_score_adj)
        set_oom_score(c->oom_score_adj);
    if (s->set_nice) {
        errno = 0;
        int now = getpriority(PRIO_PROCESS, 0);
        if (now != s->nice && setpriority(PRIO_PROCESS, 0, s->nice) < 0 && s->nice > now)
            child_fails(c, SPAWN_PRIORITY, errno); /* a better priority than allowed: keep ours */
    }
    if (s->affinity && cpus_bind(0, s->affinity) < 0)
        child_fails(c, SPAWN_AFFINITY, errno);
    if (s->memory && set_memory_policy(s->memory) < 0)
        child_fails(c, SPAWN_MEMORY, errno);
}

/* Mark the descriptors that the kernel lists as open. libc's opendir() would allocate. */
static int mark_listed_cloexec(void)
{
    _Alignas(struct dirent64) char listing[4096];
    AUTO_CLOSE int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;
    if (dir < 0)
        return -1;
    while ((n = syscall(SYS_getdents64, dir, listing, sizeof(listing))) > 0)
        for (long at = 0; at < n;) {
            const struct dirent64 *e = (const void *)(listing + at);
            int fd = 0;
            for (const char *c = e->d_name; *c >= '0' && *c <= '9'; c++)
                fd = fd * 10 + *c - '0';
            if (fd > 2) /* neither one of the three nor "." */
                fcntl(fd, F_SETFD, FD_CLOEXEC);
            at += e->d_reclen;
        }
    return n < 0 ? -1 : 0;
}

/* The number behind that of the last descriptor that may be open. */
static int descriptors_end(void)
{
    struct rlimit r;
    return getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 65536 ? (int)r.rlim_cur : 65536;
}

/* Without /proc nothing says which descriptors are open, so all that may be are marked. */
static void mark_all_cloexec(void)
{
    if (fd_close_from(3, true) == 0 || mark_listed_cloexec() == 0)
        return;
    for (int fd = 3, end = descriptors_end(); fd < end; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void set_descriptors(struct child *c)
{
    const struct spawn *s = c->s;
    int fds[3];
    mark_all_cloexec();
    for (int i = 0; i < 3; i++) {
        fds[i] = s->fds[i];
        if (fds[i] < 0)
            fds[i] = open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
        /* out of the way of the dup2() of another one */
        if (fds[i] >= 0 && fds[i] < 3 && fds[i] != i)
            fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
        if (fds[i] < 0)
            child_fails(c, SPAWN_DESCRIPTORS, errno);
    }
    for (int i = 0; i < 3; i++) {
        int r = fds[i] == i ? fcntl(i, F_SETFD, 0) : dup2(fds[i], i);
        if (r < 0)
            child_fails(c, SPAWN_DESCRIPTORS, errno);
    }
    for (size_t i = 0; i < s->nkeep_fds; i++)
        if (fcntl(s->keep_fds[i], F_SETFD, 0) < 0)
            child_fails(c, SPAWN_DESCRIPTORS, errno);
}

/* The kernel's own call: libc's refuses the two signals that it keeps for itself, and they can be
 * inherited as ignored like any other. */
static void reset_signals(void)
{
    static const unsigned long defaults[8]; /* the kernel's struct sigaction: SIG_DFL, no flags */
    for (int sig = 1; sig < NSIG; sig++)
        syscall(SYS_rt_sigaction, sig, defaults, NULL, (size_t)(NSIG - 1) / 8);
}

/* Ends by _exit(): exit handlers and buffered output belong to the process that was copied. */
static void __attribute__((noreturn)) run_copy(const struct spawn *s)
{
    if (fd_close_from(3, false) < 0)
        for (int fd = 3, end = descriptors_end(); fd < end; fd++)
            close(fd);
    int code = s->run(s->path);
#if HAS_ADDRESS_SANITIZER
    __lsan_do_leak_check();
#endif
    _exit(code);
}

static int child_main(void *arg)
{
    struct child *c = arg;
    const struct spawn *s = c->s;
    reset_signals();
    if (s->parent_death_signal) {
        prctl(PR_SET_PDEATHSIG, s->parent_death_signal);
        if (getppid() != c->parent)
            _exit(127);
    }
    enter_cgroups(c);
    if ((s->new_session && setsid() < 0) || (s->new_pgrp && setpgid(0, 0) < 0) ||
        (s->join_pgrp > 0 && setpgid(0, s->join_pgrp) < 0))
        child_fails(c, SPAWN_SESSION, errno);
    if (s->umask >= 0)
        umask((mode_t)s->umask);
    set_scheduling(c);
    if (s->directory && chdir(s->directory) < 0)
        child_fails(c, SPAWN_DIRECTORY, errno);
    set_descriptors(c);
    if (s->take_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
        child_fails(c, SPAWN_SESSION, errno);
    set_limits(c); /* last: a small RLIMIT_NOFILE or RLIMIT_AS must not stop the steps before */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (s->stop_at_exec && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        child_fails(c, SPAWN_TRACE, errno);
    if (s->run)
        run_copy(s);
    execve(s->path, s->argv, s->envp);
    child_fails(c, SPAWN_EXEC, errno);
}

/* ---- in the caller --------------------------------------------------------------------------- */

static void *map(size_t n, int flags)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Both are made once and serve every start, since starts do not overlap: those of a fork of this
 * process may, so it gets another `shared`. The stack is private: a fork writes to a copy of it. */
static bool get_memory(struct child *c)
{
    static struct shared *shared;
    static char *stack;
    static pid_t owner;
    if (shared && owner != getpid()) {
        munmap(shared, sizeof(*shared));
        shared = NULL;
    }
    owner = getpid();
    if (!shared)
        shared = map(sizeof(*shared), MAP_SHARED);
    if (!stack)
        stack = map(CHILD_STACK, MAP_PRIVATE | MAP_STACK);
    c->shared = shared;
    c->stack = stack;
    return shared && stack;
}

static pid_t clone_sharing(struct child *c)
{
    return clone(child_main, c->stack + CHILD_STACK, SHARE_MEMORY | CLONE_VFORK | SIGCHLD, c);
}

/* libc has no function for clone3(), so the step from the call to the child's own stack is made
 * here. Other processors and the sanitizers copy the memory, which costs a third more. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !HAS_ADDRESS_SANITIZER
static long clone3_on_stack(struct clone3_args *a, char *stack, int (*fn)(void *), void *arg)
{
    a->flags |= CLONE_VM;
    a->stack = (uint64_t)(uintptr_t)stack;
    a->stack_size = CHILD_STACK;
#if defined(__x86_64__)
    register long result __asm__("rax") = SYS_clone3;
    register void *r12 __asm__("r12") = arg; /* the kernel leaves these as they are */
    register int (*r13)(void *) __asm__("r13") = fn;
    __asm__ volatile("syscall\n\ttestq %%rax, %%rax\n\tjnz 1f\n\txorl %%ebp, %%ebp\n\tmovq %%r12, "
                     "%%rdi\n\tcallq *%%r13\n\tud2\n"
                     "1:"
                     : "+r"(result)
                     : "D"(a), "S"(sizeof(*a)), "r"(r12), "r"(r13)
                     : "rcx", "r11", "cc", "memory");
#else
    register long result __asm__("x0") = (long)(intptr_t)a;
    register size_t x1 __asm__("x1") = sizeof(*a);
    register long x8 __asm__("x8") = SYS_clone3;
    register void *x19 __asm__("x19") = arg;
    register int (*x20)(void *) __asm__("x20") = fn;
    __asm__ volatile("svc #0\n\tcbnz x0, 1f\n\tmov x29, xzr\n\tmov x0, x19\n\tblr x20\n\tbrk #1\n"
                     "1:"
                     : "+r"(result)
                     : "r"(x1), "r"(x8), "r"(x19), "r"(x20)
                     : "cc", "memory");
#endif
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}
#else
static long clone3_on_stack(struct clone3_args *a, char *stack, int (*fn)(void *), void *arg)
{
    long pid = syscall(SYS_clone3, a, sizeof(*a));
    if (pid == 0)
        _exit(fn(arg));
    return pid;
}
#endif

static pid_t clone_into_cgroup(struct child *c)
{
    struct clone3_args a = {
        .flags = CLONE_INTO_CGROUP | CLONE_VFORK,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)c->s->cgroup_fd,
    };
    return (pid_t)clone3_on_stack(&a, c->stack, child_main, c);
}

static bool kernel_lacks_it(int code)
{
    return code == ENOSYS || code == E2BIG || code == EINVAL || code == EPERM || code == EBADF;
}

/* The caller does not wait for the child: it does not hear why the child fails. */
static pid_t fork_child(struct child *c)
{
    struct shared unheard;
    pid_t pid = fork();
    if (pid == 0) {
        c->shared = &unheard;
        child_main(c);
    }
    return pid;
}

static pid_t clone_child(struct child *c)
{
    if (c->s->run)
        return fork_child(c);
    if (c->s->cgroup_fd < 0)
        return clone_sharing(c);
    pid_t pid = clone_into_cgroup(c);
    if (pid >= 0 || c->s->cgroup_fallback_fd < 0 || !kernel_lacks_it(errno))
        return pid;
    c->write_fallback = true;
    return clone_sharing(c);
}

static int describe(const struct spawn *s, const struct spawn_failure *f, struct error *err)
{
    switch (f->step) {
    case SPAWN_DIRECTORY:
        return error_errno(err, f->code, "change to directory '%s'", s->directory);
    case SPAWN_EXEC:
        return error_errno(err, f->code, "execute '%s'", s->path);
    default:
        return error_errno(err, f->code, "%s", spawn_step_text(f->step));
    }
}

/* Why there is no child: for want of a process, or for the cgroup that it was to be born in. */
static enum spawn_step clone_step(const struct spawn *s, int code)
{
    return s->cgroup_fd < 0 || code == EAGAIN || code == ENOMEM ? SPAWN_FORK : SPAWN_CGROUP;
}

/* The kernel stops a traced process when exec has succeeded. */
static void leave_stopped(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
        ;
    if (WIFSTOPPED(status))
        ptrace(PTRACE_DETACH, pid, NULL, (void *)(uintptr_t)SIGSTOP);
}

/* The pid, or -1 with *ret. */
static pid_t start(const struct spawn *s, struct spawn_failure *ret)
{
    struct child c = {.s = s, .parent = getpid()};
    struct spawn_failure f = {.step = SPAWN_FORK};
    sigset_t all, saved;
    pid_t pid = -1;

    snprintf(c.oom_score_adj, sizeof(c.oom_score_adj), "%d", s->oom_score_adj);
    if (get_memory(&c)) {
        c.shared->failed = 0;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, &saved); /* no handler may run on shared memory */
        pid = clone_child(&c);
        f.code = errno;
        f.step = clone_step(s, f.code);
        sigprocmask(SIG_SETMASK, &saved, NULL);
    } else {
        f.code = errno;
    }
    if (pid > 0 && c.shared->failed) {
        f.step = (enum spawn_step)c.shared->step;
        f.code = c.shared->code;
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        pid = -1;
    }
    if (pid > 0 && s->stop_at_exec)
        leave_stopped(pid);
    if (pid < 0)
        *ret = f;
    return pid;
}

/* Is that a file without NUL bytes at its beginning, which this process can read? */
static bool is_text(const struct spawn *s)
{
    char head[256];
    AUTO_CLOSE int at = open(s->directory ? s->directory : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int fd = openat(at, s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
    return n > 0 && !memchr(head, 0, (size_t)n);
}

static pid_t start_by_shell(struct spawn s, struct spawn_failure *ret)
{
    size_t n = words_count(s.argv);
    AUTO_FREE char **argv = calloc(n + 2, sizeof(*argv));
    AUTO_FREE char *script = strdup(s.path);
    if (!argv || !script) {
        *ret = (struct spawn_failure){.step = SPAWN_FORK, .code = ENOMEM};
        return -1;
    }
    argv[0] = "/bin/sh";
    argv[1] = script;
    for (size_t i = 1; i < n; i++)
        argv[i + 1] = s.argv[i];
    s.path = argv[0];
    s.argv = argv;
    return start(&s, ret);
}

pid_t spawn_process(const struct spawn *s, struct spawn_failure *ret_failure, struct error *err)
{
    struct spawn_failure f;
    pid_t pid = start(s, &f);
    if (pid < 0 && f.step == SPAWN_EXEC && f.code == ENOEXEC && is_text(s))
        pid = start_by_shell(*s, &f);
    if (pid < 0) {
        if (ret_failure)
            *ret_failure = f;
        describe(s, &f, err);
    }
    return pid;
}

pid_t spawn_piped(struct spawn s, int ret_ends[3], struct error *err)
{
    int theirs[3] = {-1, -1, -1}, ends[2];
    pid_t pid = 0;
    for (int i = 0; i < 3; i++) {
        ret_ends[i] = -1;
        if (s.fds[i] != SPAWN_PIPE || pid < 0)
            continue;
        if (pipe2(ends, O_CLOEXEC) < 0) {
            pid = error_errno(err, errno, "make a pipe");
            continue;
        }
        s.fds[i] = theirs[i] = ends[i > 0];
        ret_ends[i] = ends[i == 0];
    }
    if (pid == 0)
        pid = spawn_process(&s, NULL, err);
    for (int i = 0; i < 3; i++) {
        cleanup_close(&theirs[i]);
        if (pid < 0)
            cleanup_close(&ret_ends[i]);
    }
    return pid;
}

pid_t spawn_idle(const char *name)
{
    sigset_t all;
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)fd_close_from(0, false);
    while (getppid() == parent)
        pause();
    _exit(0);
}

/* ---- finding the program --------------------------------------------------------------------- */

const char *spawn_env_value(char *const envp[], const char *name)
{
    size_t n = strcspn(name, "=");
    for (; envp && *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

static bool is_running_program(const struct stat *file)
{
    struct stat self;
    return stat("/proc/self/exe", &self) == 0 && file->st_dev == self.st_dev &&
           file->st_ino == self.st_ino;
}

/* 0, or the errno that exec would give for a file at dir/name. */
static int try_file(const char *base, const char *dir, size_t ndir, const char *name, char **ret)
{
    struct stat st;
    int relative = ndir == 0 || dir[0] != '/';
    const char *root = relative && base ? base : "";
    AUTO_FREE char *path =
        text_format("%s%s%.*s%s%s", root, *root ? "/" : "", (int)ndir, dir, ndir ? "/" : "", name);
    if (stat(path, &st) < 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (ndir > 0 && is_running_program(&st))
        return ENOENT;
    if (access(path, X_OK) < 0)
        return errno;
    /* what is executed keeps the name as the user's shell would have it */
    *ret = text_format("%.*s%s%s", (int)ndir, dir, ndir ? "/" : "", name);
    return 0;
}

/* Some other launchers look into the directory, too. */
static int not_in_path(const char *name, const char *directory, struct error *err)
{
    AUTO_FREE char *path = NULL;
    if (directory && try_file(directory, "", 0, name, &path) == 0)
        return error_set(err, ENOENT, "execute '%s': not found in PATH; the one in '%s' is './%s'",
                         name, directory, name);
    return error_set(err, ENOENT, "execute '%s': not found in PATH", name);
}

int spawn_resolve(const char *name, char *const envp[], const char *directory, char **ret,
                  struct error *err)
{
    if (!*name)
        return error_set(err, ENOENT, "the program's name is empty");
    if (strchr(name, '/')) {
        int code = try_file(name[0] == '/' ? NULL : directory, "", 0, name, ret);
        if (code && directory && name[0] != '/')
            return error_errno(err, code, "execute '%s' in '%s'", name, directory);
        return code ? error_errno(err, code, "execute '%s'", name) : 0;
    }
    const char *path = spawn_env_value(envp, "PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    int worst = ENOENT;
    for (const char *at = path;; at++) {
        size_t n = strcspn(at, ":");
        int code = try_file(directory, at, n, name, ret);
        if (code == 0)
            return 0;
        if (code == EACCES)
            worst = code;
        at += n;
        if (!*at)
            break;
    }
    if (worst == ENOENT)
        return not_in_path(name, directory, err);
    return error_errno(err, worst, "execute '%s' found in PATH", name);
}

int spawn_resolve_here(const char *name, char *const envp[], const char *directory, char **ret,
                       struct error *err)
{
    if (spawn_resolve(name, envp, directory, ret, err) == 0)
        return 0;
    if (!*name || strchr(name, '/'))
        return -1;
    return try_file(directory, ".", 1, name, ret) == 0 ? 0 : -1;
}
