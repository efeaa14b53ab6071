/* SPDX-License-Identifier: BSD-3-Clause */
/* ending.c - a rank that comes to an end when it should not
 *
 *     ending WHEN RANK HOW [NUMBER]
 *
 * WHEN: before (MPI_Init; the others are in it, or on their way), in (in MPI_Init, which cannot end
 * because rank 0 never calls it), after, late (after MPI_Finalize). HOW: exit, signal or abort with
 * NUMBER; leave, which is exit 0. The other ranks wait for the one that ends, for ever. */
#include <mpi.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { TICK_NS = 100000000, CALM_TICKS = 4, MOST_TICKS = 30 };

static const char *how;
static int number;

static void end(void)
{
    fflush(NULL);
    if (!strcmp(how, "signal"))
        raise(number);
    if (!strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, number);
    _exit(!strcmp(how, "exit") ? number : 0);
}

/* Nanoseconds that this thread ran or wanted to run; 0 where the kernel does not tell. */
static unsigned long long busy_time(void)
{
    char text[128] = "", *at = text;
    int fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = 0;
    close(fd);
    unsigned long long ran = strtoull(at, &at, 10);
    return ran + strtoull(at, &at, 10);
}

/* Whoever is still on its way into MPI_Init runs, or would if it were let; who sleeps for some
 * ticks has come to where it waits for rank 0. */
static void on_alarm(int signo)
{
    static unsigned long long before;
    static int calm, ticks;
    unsigned long long now = busy_time();
    calm = now - before < TICK_NS / 5 ? calm + 1 : 0;
    before = now;
    if (calm < CALM_TICKS && ++ticks < MOST_TICKS)
        return;
    if (!strcmp(how, "signal"))
        raise(number);
    _exit(number);
}

/* Rank 0 stays away, so that nobody's MPI_Init can end; the one that is to end does so from a
 * signal handler, while it waits there. */
static void end_inside(int mine, int whose)
{
    struct itimerval tick = {{.tv_usec = TICK_NS / 1000}, {.tv_usec = TICK_NS / 1000}};
    if (mine == 0)
        for (;;)
            pause();
    if (mine != whose)
        return;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &tick, NULL);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: ending WHEN RANK HOW [NUMBER]\n");
        return 2;
    }
    const char *when = argv[1], *own = getenv("MPRUN_RANK");
    int whose = atoi(argv[2]), mine = own ? atoi(own) : -1;
    how = argv[3];
    number = argc > 4 ? atoi(argv[4]) : 0;
    if (!strcmp(when, "before") && mine == whose)
        end();
    if (!strcmp(when, "in"))
        end_inside(mine, whose);
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD); /* an MPI that is still at it has errors of its own to tell */
    if (!strcmp(when, "after") && mine == whose)
        end();
    if (!strcmp(when, "after"))
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (!strcmp(when, "late") && mine == whose)
        end();
    return 0;
}
