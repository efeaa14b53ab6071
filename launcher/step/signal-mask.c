/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/step/signal-mask.h"

#include <signal.h>

static void change_mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGTSTP);
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
