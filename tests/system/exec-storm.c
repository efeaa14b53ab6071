/* SPDX-License-Identifier: BSD-3-Clause */
/* exec-storm - as many processes as this machine can begin and end
 *
 *   exec-storm SECONDS PARALLEL COMMAND [ARGS...]
 *       PARALLEL processes run COMMAND again and again, one at a time each, for so long, or until a
 *       TERM; prints how many there were a second, and in all. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PARALLEL_MAX = 64 };

static struct {
    volatile sig_atomic_t stop;
    unsigned long count[PARALLEL_MAX];
} * shared;

static void on_term(int signo)
{
    shared->stop = 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_one(char **command)
{
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        execv(command[0], command);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static void run_until(double end, char **command, unsigned long *ret)
{
    while (now() < end && !shared->stop) {
        if (run_one(command) < 0)
            _exit(1);
        ++*ret;
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    double seconds = argc > 3 ? strtod(argv[1], NULL) : 0;
    int parallel = argc > 3 ? atoi(argv[2]) : 0, status, failed = 0;
    unsigned long sum = 0;
    if (seconds <= 0 || parallel < 1 || parallel > PARALLEL_MAX) {
        fprintf(stderr, "usage: exec-storm SECONDS PARALLEL COMMAND [ARGS...]\n");
        return 2;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || signal(SIGTERM, on_term) == SIG_ERR)
        return 1;
    double begin = now();
    for (int i = 0; i < parallel; i++)
        if (fork() == 0)
            run_until(begin + seconds, argv + 3, &shared->count[i]);
    while (wait(&status) > 0 || errno == EINTR)
        failed |= status != 0;
    for (int i = 0; i < parallel; i++)
        sum += shared->count[i];
    printf("%.0f a second, %lu in all\n", (double)sum / (now() - begin), sum);
    return failed;
}
