/* SPDX-License-Identifier: BSD-3-Clause */
/* signal-mask.c - the signals that end mprun */
#include "launcher/signals/signal-mask.h"

#include <signal.h>

static void change(int how)
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
    change(SIG_UNBLOCK);
}

void signal_mask_close(void)
{
    change(SIG_BLOCK);
}
