/* SPDX-License-Identifier: BSD-3-Clause */
/* spin.c - burn a known amount of CPU time, in children too: what accounting must find (no MPI)
 *
 *     spin [--waited N] [--unwaited N] [--daemon N] SECONDS
 *
 * The process itself and every child burn SECONDS of CPU time. --waited children are waited for
 * (their time reaches the parent's books); --unwaited ones run at the same time and are not waited
 * for, the process exits when they have ended; --daemon ones are orphans in sessions of their own,
 * which go on after the process has ended. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double seconds)
{
    volatile unsigned x = 0;
    double end = cpu_seconds() + seconds;

    while (cpu_seconds() < end) {
        for (int i = 0; i < 10000; i++)
            x += (unsigned)i;
    }
}

static pid_t child(double seconds)
{
    pid_t pid = fork();

    if (pid < 0) {
        perror("spin: fork");
        exit(1);
    }
    if (pid == 0) {
        burn(seconds);
        _exit(0);
    }
    return pid;
}

/* A grandchild in a session of its own, whose parent has ended. */
static void orphan(double seconds)
{
    pid_t pid = fork();

    if (pid < 0) {
        perror("spin: fork");
        exit(1);
    }
    if (pid == 0) {
        setsid();
        if (fork() == 0)
            burn(seconds);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

/* Every child holds a copy of the write end: the read ends when the last of them has. */
static void run_unwaited(int n, double seconds)
{
    int ends[2];
    char c;

    if (n == 0 || pipe(ends) < 0)
        return;
    for (int i = 0; i < n; i++)
        child(seconds);
    close(ends[1]);
    while (read(ends[0], &c, 1) > 0) {
    }
}

static int count(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || *end || n < 0 || n > 1000) {
        fprintf(stderr, "spin: '%s' is no number from 0 to 1000\n", text);
        exit(2);
    }
    return (int)n;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"waited", required_argument, NULL, 'w'},
                                            {"unwaited", required_argument, NULL, 'u'},
                                            {"daemon", required_argument, NULL, 'd'},
                                            {NULL, 0, NULL, 0}};
    int waited = 0, unwaited = 0, daemons = 0, o;

    while ((o = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        if (o == 'w')
            waited = count(optarg);
        else if (o == 'u')
            unwaited = count(optarg);
        else if (o == 'd')
            daemons = count(optarg);
        else
            return 2;
    }
    if (optind + 1 != argc) {
        fprintf(stderr, "usage: spin [--waited N] [--unwaited N] [--daemon N] SECONDS\n");
        return 2;
    }
    double seconds = strtod(argv[optind], NULL);

    for (int i = 0; i < daemons; i++)
        orphan(seconds);
    for (int i = 0; i < waited; i++)
        waitpid(child(seconds), NULL, 0);
    run_unwaited(unwaited, seconds);
    burn(seconds);
    return 0;
}
