/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/lib/unlinger.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

enum { MOMENT_US = 1000 };

static void do_nothing(int signo)
{
}

static void tick_every(suseconds_t us)
{
    struct itimerval t = {.it_interval.tv_usec = us, .it_value.tv_usec = us};
    (void)setitimer(ITIMER_REAL, &t, NULL);
}

void unlinger_begin(void)
{
    static bool is_ready;
    struct sigaction a = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    if (!is_ready)
        is_ready = sigaction(SIGALRM, &a, NULL) == 0;
    if (is_ready)
        tick_every(MOMENT_US);
}

void unlinger_end(void)
{
    tick_every(0);
}

void unlinger_close(int *fd)
{
    if (*fd < 0)
        return;
    unlinger_begin();
    (void)close(*fd);
    unlinger_end();
    *fd = -1;
}
