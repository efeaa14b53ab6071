/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-hints.c - what the end of a failed rank mostly means, when its cause is not known for
 * sure */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "common/must.h"
#include "common/text/number.h"
#include "model/rank-end.h"
#include "starter/ranks/ranks-private.h"

/* SIGBUS: a shared page could not be provided. Ranks share memory on the file system /dev/shm. */
static void hint_at_bus_error(char *text, size_t n)
{
    char have[16], all[16];
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) == 0 && fs.f_blocks > 0)
        snprintf(text, n,
                 ", as when there is no space for a page of a mapped file: /dev/shm of this host "
                 "has %s free of %s",
                 size_format((uint64_t)fs.f_bavail * fs.f_frsize, have, sizeof(have)),
                 size_format((uint64_t)fs.f_blocks * fs.f_frsize, all, sizeof(all)));
}

static void hint_at_code(int code, char *text, size_t n)
{
    int signo = code - EXIT_CODE_SIGNAL;
    const char *name = signo > 0 && signo < 32 ? strsignal(signo) : NULL;
    if (code == EXIT_CODE_NOT_FOUND)
        snprintf(text, n,
                 ", as when a shared library is not found (ldd shows which; 'module load', "
                 "LD_LIBRARY_PATH or --preload-libs), or a shell's command");
    else if (code == EXIT_CODE_CANNOT_EXEC)
        snprintf(text, n, ", as of a shell that cannot execute its command");
    else if (name)
        snprintf(text, n, ", as of a shell whose command was killed by signal %d (%s)", signo,
                 name);
}

char *rank_hints_text(const struct rank *r)
{
    char text[400] = "";
    int signo = WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
    if (signo == SIGILL)
        snprintf(text, sizeof(text),
                 ", as of a program that was compiled for another processor than this host has "
                 "(-march)");
    else if (signo == SIGBUS)
        hint_at_bus_error(text, sizeof(text));
    else if (!signo)
        hint_at_code(WEXITSTATUS(r->status), text, sizeof(text));
    return text[0] ? must(strdup(text)) : NULL;
}
