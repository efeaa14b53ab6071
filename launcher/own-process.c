/* SPDX-License-Identifier: BSD-3-Clause */
/* own-process.c - attributes of mprun's own process: umask, priority, limits, signals */
#include "launcher/own-process.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

static void raise_files_limit(const struct rlimit *inherited)
{
    struct rlimit files = {.rlim_cur = inherited->rlim_max, .rlim_max = inherited->rlim_max};
    setrlimit(RLIMIT_NOFILE, &files);
}

void inherited_replace(struct inherited *ret)
{
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (getrlimit(i, &ret->limits[i]) < 0)
            ret->limits[i].rlim_cur = ret->limits[i].rlim_max = RLIM_INFINITY;
    errno = 0;
    ret->nice = getpriority(PRIO_PROCESS, 0);
    ret->umask = umask(077);
    raise_files_limit(&ret->limits[RLIMIT_NOFILE]);
}

static void change_mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigprocmask(how, &set, NULL);
}

void signal_mask_open(void)
{
    change_mask(SIG_UNBLOCK);
}

void signal_mask_close(void)
{
    change_mask(SIG_BLOCK);
}
