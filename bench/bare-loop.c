/* SPDX-License-Identifier: BSD-3-Clause */
/* bare-loop.c - the least a launcher can do: start N processes, wait for them all
 *
 *     bare-loop N PROGRAM [ARGUMENT...]      exit code 0 when all of them ended with 0
 *
 * What bench/launch compares mprun with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* vfork: the parent goes on when the child has replaced itself, or has failed to. */
static pid_t start(char **argv)
{
    pid_t pid = vfork();

    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static int wait_for(long n)
{
    int failed = 0, status;

    while (n > 0) {
        pid_t pid = wait(&status);
        if (pid < 0 && errno != EINTR)
            return 1;
        if (pid < 0)
            continue;
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        n--;
    }
    return failed;
}

int main(int argc, char **argv)
{
    char *end;
    long n = argc > 2 ? strtol(argv[1], &end, 10) : 0;

    if (n < 1 || *end) {
        fprintf(stderr, "usage: bare-loop N PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    for (long i = 0; i < n; i++) {
        if (start(argv + 2) < 0) {
            perror("bare-loop: vfork");
            return 1;
        }
    }
    return wait_for(n);
}
