/* SPDX-License-Identifier: BSD-3-Clause */
/* process-probe - prints what its process was given, exactly, so that a rank's can be compared with
 * what the user's shell gives
 *
 *     process-probe args ARG...   the arguments, a NUL behind each
 *     process-probe env           the environment, a NUL behind each entry
 *     process-probe state         the rest, a line per thing
 *     process-probe wait FILE     says "ready" in a new line of FILE, then waits; a line in it for
 *                                 each signal that came; ends at TERM with code 7
 *     process-probe stay FILE     the same, but ignores TERM
 *     process-probe headless FILE  a process whose first thread ends, as in /proc the whole process
 *                                 seems to have done then; another thread writes the pid to FILE,
 *                                 and stays */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void print_words(char *const *words)
{
    for (; *words; words++)
        fwrite(*words, 1, strlen(*words) + 1, stdout);
}

static void print_limit(const char *name, int resource)
{
    struct rlimit r;
    if (getrlimit(resource, &r) == 0)
        printf("limit %s %lld\n", name, (long long)r.rlim_cur);
}

static void print_limits(void)
{
    print_limit("core", RLIMIT_CORE);
    print_limit("cpu", RLIMIT_CPU);
    print_limit("data", RLIMIT_DATA);
    print_limit("file", RLIMIT_FSIZE);
    print_limit("files", RLIMIT_NOFILE);
    print_limit("locked", RLIMIT_MEMLOCK);
    print_limit("processes", RLIMIT_NPROC);
    print_limit("stack", RLIMIT_STACK);
    print_limit("space", RLIMIT_AS);
}

static void print_signals(void)
{
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int s = 1; s <= SIGRTMAX; s++) {
        struct sigaction sa;
        if (sigismember(&blocked, s) == 1)
            printf("signal %d blocked\n", s);
        if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL)
            printf("signal %d ignored\n", s);
    }
}

static void print_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        char target[4096];
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || fd == dirfd(d))
            continue;
        ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
        printf("descriptor %d %.*s\n", fd, n < 0 ? 0 : (int)n, target);
    }
    if (d)
        closedir(d);
}

static void print_file(const char *name, const char *path)
{
    char line[256];
    FILE *f = fopen(path, "r");
    if (f && fgets(line, sizeof(line), f))
        printf("%s %s", name, line);
    if (f)
        fclose(f);
}

static void print_state(void)
{
    char cwd[4096];
    mode_t mask = umask(0);
    umask(mask);
    printf("umask %03o\n", (unsigned)mask);
    printf("directory %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : strerror(errno));
    printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
    printf("scheduler %d\n", sched_getscheduler(0));
    print_file("oom_score_adj", "/proc/self/oom_score_adj");
    printf("session %d\n", (int)getsid(0));
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    printf("terminal %s\n", tty >= 0 ? "yes" : "no");
    if (tty >= 0)
        close(tty);
    print_limits();
    print_signals();
    print_descriptors();
}

/* ---- signals as they come
 * ------------------------------------------------------------------------ */

static void say(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    ssize_t n = fd >= 0 ? write(fd, text, strlen(text)) : -1;
    if (n < 0)
        exit(70);
    close(fd);
}

static int wait_for_signals(const char *path, int ignore_term)
{
    sigset_t all;
    char text[64];
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    snprintf(text, sizeof(text), "ready %d\n", (int)getpid());
    say(path, text);
    for (;;) {
        int s = sigwaitinfo(&all, NULL);
        if (s < 0)
            continue;
        const char *name = sigabbrev_np(s);
        snprintf(text, sizeof(text), "%s\n", name ? name : "?");
        say(path, text);
        if (s == SIGTERM && !ignore_term)
            return 7;
    }
}

/* ---- without a first thread
 * ---------------------------------------------------------------------- */

static void *outlive(void *path)
{
    char text[32], stat[64];
    do { /* "PID (NAME) STATE" */
        FILE *f = fopen("/proc/self/stat", "r");
        if (!f || !fgets(stat, sizeof(stat), f))
            exit(70);
        fclose(f);
    } while (!strstr(stat, ") Z"));
    snprintf(text, sizeof(text), "%d\n", (int)getpid());
    say(path, text);
    for (;;)
        pause();
}

static int lose_first_thread(char *path)
{
    pthread_t t;
    if (pthread_create(&t, NULL, outlive, path) != 0)
        return 70;
    (void)syscall(SYS_exit, 0);
    return 70;
}

int main(int argc, char **argv, char **envp)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "args") == 0)
        print_words(argv + 2);
    else if (strcmp(what, "env") == 0)
        print_words(envp);
    else if (strcmp(what, "state") == 0)
        print_state();
    else if (argc == 3 && (strcmp(what, "wait") == 0 || strcmp(what, "stay") == 0))
        return wait_for_signals(argv[2], what[0] == 's');
    else if (argc == 3 && strcmp(what, "headless") == 0)
        return lose_first_thread(argv[2]);
    else
        return 64;
    return fflush(stdout) == 0 ? 0 : 70;
}
