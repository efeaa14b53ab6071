/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/processes/signal-name.h"

#include <string.h>

const char *signal_name(int signo)
{
    const char *name = sigabbrev_np(signo);
    return name ? name : signo >= 32 && signo <= 64 ? "real-time" : "unknown";
}
