/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup-probe - a program that tells where it was born
 *
 * Static, and its first action is to read /proc/self/cgroup: what it prints is where it was before
 * any line of it ran. Then it does what it is told, to be tracked, counted, limited and killed:
 *
 *   cgroup-probe [ACTION...]
 *     cgroup          print /proc/self/cgroup as it was at the start
 *     where           one line: the cgroup2 path of it, or of the freezer, or of memory
 *     widen           ask for every hardware thread there is; print those it has then
 *     burn SECONDS    use that much CPU time
 *     take MIB        touch that much memory, and keep it
 *     grow MIB        the same, 20 MiB a second
 *     fork N          start N children that sleep in sessions of their own; prints how many came
 *     escape          go into the background, out of session and parent, and go on there
 *     sleep           for ever
 *     exit CODE */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static char born[8192];

static void read_birth(void)
{
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t k;
    while (fd >= 0 && (k = read(fd, born + n, sizeof(born) - 1 - n)) > 0)
        n += (size_t)k;
    if (fd >= 0)
        close(fd);
}

static const char *line_with(const char *key)
{
    for (const char *line = born; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *names = strchr(line, ':');
        if (names && !strncmp(names, key, strlen(key)))
            return names + strlen(key);
    }
    return NULL;
}

static void print_where(void)
{
    static const char *const keys[] = {"::", ":freezer:", ":memory:"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *path = line_with(keys[i]);
        if (!path)
            continue;
        printf("%.*s\n", (int)strcspn(path, "\n"), path);
        return;
    }
    printf("nowhere\n");
}

static void widen(void)
{
    enum { THREADS = 4096 };
    cpu_set_t *set = CPU_ALLOC(THREADS);
    size_t size = CPU_ALLOC_SIZE(THREADS);
    memset(set, 0xff, size);
    if (sched_setaffinity(0, size, set) < 0)
        printf("refused: %s\n", strerror(errno));
    memset(set, 0, size);
    if (sched_getaffinity(0, size, set) < 0)
        exit(1);
    for (size_t i = 0, n = 0; i < THREADS; i++)
        if (CPU_ISSET_S(i, size, set))
            printf("%s%zu", n++ ? "," : "", i);
    printf("\n");
    CPU_FREE(set);
}

static void burn(double seconds)
{
    struct timespec t;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < seconds);
}

static void take(size_t mib)
{
    size_t n = mib << 20;
    volatile char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        printf("take %zu: %s\n", mib, strerror(errno));
        exit(1);
    }
    for (size_t i = 0; i < n; i += 4096)
        p[i] = 1;
}

static void grow(long mib)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    for (; mib > 0; mib--) {
        take(1);
        nanosleep(&pause, NULL);
    }
}

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

static void start_children(long n)
{
    long came = 0;
    fflush(stdout);
    while (came < n) {
        pid_t pid = fork();
        if (pid == 0) {
            setsid();
            sleep_for_ever();
        }
        if (pid < 0)
            break;
        came++;
    }
    printf("%ld of %ld children\n", came, n);
}

static void escape(void)
{
    fflush(stdout);
    if (fork() > 0)
        _exit(0);
    setsid();
    if (fork() > 0)
        _exit(0);
}

/* Number of arguments it took, or -1. */
static int act(char **argv)
{
    const char *action = argv[0], *value = argv[1];
    if (!strcmp(action, "cgroup"))
        fputs(born, stdout);
    else if (!strcmp(action, "where"))
        print_where();
    else if (!strcmp(action, "widen"))
        widen();
    else if (!strcmp(action, "escape"))
        escape();
    else if (!strcmp(action, "sleep"))
        sleep_for_ever();
    else if (!value)
        return -1;
    else if (!strcmp(action, "burn"))
        burn(atof(value));
    else if (!strcmp(action, "take"))
        take((size_t)atol(value));
    else if (!strcmp(action, "grow"))
        grow(atol(value));
    else if (!strcmp(action, "fork"))
        start_children(atol(value));
    else if (!strcmp(action, "exit"))
        exit(atoi(value));
    else
        return -1;
    fflush(stdout);
    return !strcmp(action, "burn") || !strcmp(action, "take") || !strcmp(action, "grow") ||
                   !strcmp(action, "fork")
               ? 2
               : 1;
}

int main(int argc, char **argv)
{
    read_birth();
    if (argc < 2)
        print_where();
    for (int i = 1, n; i < argc; i += n)
        if ((n = act(argv + i)) < 0) {
            fprintf(stderr, "cgroup-probe: '%s' is no action, or lacks its value\n", argv[i]);
            return 125;
        }
    return 0;
}
