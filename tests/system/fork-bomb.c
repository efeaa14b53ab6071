/* SPDX-License-Identifier: BSD-3-Clause */
/* fork-bomb - as many processes as this machine can begin, by a program that does not want to end
 *
 *   fork-bomb KIND     ignores TERM, HUP and INT; after half a second it prints its rate, and goes
 * on exits            children that exit at once stays            children that stay, until no more
 * can be had (or there are 400); then it goes on trying daemons          16 chains: each process
 * forks the next one, in a session of its own, and exits, so that nobody has a parent that he began
 * with */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FORKERS = 2, CHAINS = 16, STAY_MAX = 400 };

static volatile unsigned long *count; /* of forks; of children that stay */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void tell_rate(double begun, const char *kind)
{
    struct timespec half = {.tv_nsec = 500 * 1000 * 1000};
    nanosleep(&half, NULL);
    double seconds = now() - begun;
    printf("%s: %.0f forks a second, %lu stay\n", kind, (double)count[0] / seconds, count[1]);
    fflush(stdout);
}

static pid_t fork_counted(void)
{
    pid_t pid = fork();
    if (pid > 0)
        __atomic_fetch_add(&count[0], 1, __ATOMIC_RELAXED);
    return pid;
}

static void exits(void)
{
    for (;;)
        if (fork_counted() == 0)
            _exit(0);
}

static void stays(void)
{
    for (;;) {
        pid_t pid = count[1] < STAY_MAX ? fork_counted() : -1;
        if (pid == 0)
            for (;;)
                pause();
        if (pid > 0)
            count[1]++;
        else if (fork_counted() == 0)
            _exit(0);
    }
}

static void daemons(void)
{
    for (;;) {
        pid_t pid = fork_counted();
        if (pid > 0)
            _exit(0);
        if (pid == 0)
            setsid();
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc == 2 ? argv[1] : "";
    void (*run)(void) = !strcmp(kind, "exits")     ? exits
                        : !strcmp(kind, "stays")   ? stays
                        : !strcmp(kind, "daemons") ? daemons
                                                   : NULL;
    int n = run == daemons ? CHAINS : run == stays ? 1 : FORKERS;
    count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!run || count == MAP_FAILED)
        return 2;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    double begun = now();
    for (int i = 0; i < n; i++)
        if (fork() == 0)
            run();
    tell_rate(begun, kind);
    for (;;)
        pause();
}
