/* SPDX-License-Identifier: BSD-3-Clause */
/* signal-name.c - the short names of signals, which older C libraries do not give */
#include "common/processes/signal-name.h"

#include <signal.h>

static const char *const names[] = {
    [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
    [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
    [SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
    [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
    [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
    [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
    [SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
    [SIGIO] = "IO",     [SIGPWR] = "PWR",       [SIGSYS] = "SYS",
};

const char *signal_name(int signo)
{
    if (signo > 0 && (size_t)signo < sizeof(names) / sizeof(names[0]) && names[signo])
        return names[signo];
    return signo >= 32 && signo <= 64 ? "real-time" : "unknown";
}
