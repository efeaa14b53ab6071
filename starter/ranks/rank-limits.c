/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-limits.c - the resource limits (setrlimit(2)) that may be the cause of a rank's failure
 *
 * It reads the limits while the rank is a zombie: as the program, or a script before it, has set
 * them last. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/must.h"
#include "common/text/number.h"
#include "model/rank-end.h"
#include "starter/ranks/ranks-private.h"
#include "starter/tunables.h"
#include "wire/messages/launch.h"

struct suspect { /* a limit, and the ends that may come from it */
    int resource;
    const char *option; /* of the shell's ulimit */
    const char *of;     /* what it limits */
    int certain;        /* the signal that only this limit causes; 0: none */
    int signals[4];     /* signals that it may cause */
    bool codes;         /* it may also cause an exit code */
};

static const struct suspect suspects[] = {
    {RLIMIT_CPU, "-t", "of CPU time", SIGXCPU, {SIGXCPU}, false},
    {RLIMIT_FSIZE, "-f", "of a file", SIGXFSZ, {SIGXFSZ}, true},
    {RLIMIT_STACK, "-s", "of stack", 0, {SIGSEGV}, false},
    {RLIMIT_AS, "-v", "of address space", 0, {SIGSEGV, SIGABRT, SIGKILL}, true},
    {RLIMIT_DATA, "-d", "of data", 0, {SIGSEGV, SIGABRT, SIGKILL}, true},
    {RLIMIT_NOFILE, "-n", "open files", 0, {SIGABRT}, true},
    {RLIMIT_NPROC, "-u", "processes of the user", 0, {SIGABRT}, true},
};

static const char *format(const struct suspect *s, rlim_t value, char *buf, size_t n)
{
    if (s->resource == RLIMIT_CPU)
        return duration_format((double)value, buf, n);
    if (s->resource == RLIMIT_NOFILE || s->resource == RLIMIT_NPROC)
        snprintf(buf, n, "%llu", (unsigned long long)value);
    else
        size_format(value, buf, n);
    return buf;
}

/* Says where the rank has the limit from: "ulimit -s where mprun was started". */
static const char *source(const struct rank *r, const struct suspect *s, rlim_t value, char *buf,
                          size_t n)
{
    const struct rlimit *shell = &r->all->with->launch->step.soft_limits[s->resource];
    const char *where = "set by the program or its script";
    struct rlimit own;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        const struct limit_words *w = limit_words((enum limit_kind)k);
        if (w->resource != s->resource || !r->limits.of[k].set)
            continue;
        snprintf(buf, n, "--limit rank:%s, or set by the program or its script", w->word);
        return buf;
    }
    if (value == shell->rlim_cur)
        where = "where mprun was started";
    else if (getrlimit((unsigned)s->resource, &own) == 0 && value == own.rlim_max)
        where = "of its host";
    snprintf(buf, n, "ulimit %s %s", s->option, where);
    return buf;
}

struct ending {
    int signo; /* that killed the rank or, if a shell's exit code says so, its child; 0: none */
    bool by_signal;
};

static struct ending ending_of(int status)
{
    int code = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        return (struct ending){WTERMSIG(status), true};
    if (code > EXIT_CODE_SIGNAL && code < EXIT_CODE_SIGNAL + 32)
        return (struct ending){code - EXIT_CODE_SIGNAL, false};
    return (struct ending){0, false};
}

static bool may_end_so(const struct suspect *s, const struct ending *e)
{
    bool may = !e->by_signal && s->codes;
    for (size_t i = 0; i < 4 && e->signo; i++)
        may = may || s->signals[i] == e->signo;
    return may;
}

/* Returns the limit that the rank may have met; RLIM_INFINITY: it has met none. */
static rlim_t limit_met(const struct rank *r, const struct suspect *s, const struct ending *e,
                        pid_t zombie)
{
    uint64_t used = r->usage.value[USAGE_CPU_USER] + r->usage.value[USAGE_CPU_SYSTEM];
    struct rlimit now;
    if (prlimit(zombie, (enum __rlimit_resource)s->resource, NULL, &now) < 0)
        return RLIM_INFINITY;
    if (s->resource == RLIMIT_CPU && e->signo == SIGKILL) /* the hard limit has no other sign */
        return now.rlim_max != RLIM_INFINITY && (double)used / 1e6 + 0.5 > (double)now.rlim_max
                   ? now.rlim_max
                   : RLIM_INFINITY;
    if (!may_end_so(s, e) || (s->resource == RLIMIT_NOFILE && now.rlim_cur >= FEW_OPEN_FILES) ||
        (s->resource == RLIMIT_NPROC && (now.rlim_cur >= FEW_PROCESSES || geteuid() == 0)))
        return RLIM_INFINITY;
    if (s->resource == RLIMIT_CPU && now.rlim_cur != RLIM_INFINITY)
        return now.rlim_cur - 1; /* the kernel adds a second when it sends SIGXCPU */
    return now.rlim_cur;
}

char *rank_limits_text(const struct rank *r, pid_t zombie)
{
    char text[500] = "", size[32], from[100];
    size_t at = 0;
    const struct ending e = ending_of(r->status);
    for (size_t i = 0; i < sizeof(suspects) / sizeof(*suspects) && at < sizeof(text); i++) {
        const struct suspect *s = &suspects[i];
        rlim_t met = limit_met(r, s, &e, zombie);
        if (met == RLIM_INFINITY)
            continue;
        const char *words = at                                     ? " or"
                            : e.by_signal && s->certain == e.signo ? " at its limit of"
                                                                   : ", perhaps at its limit of";
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %s %s (%s)", words,
                               format(s, met, size, sizeof(size)), s->of,
                               source(r, s, met, from, sizeof(from)));
    }
    if (at == 0 && !e.by_signal && r->leaf && cgroup_leaf_refused_process(r->leaf))
        at = (size_t)snprintf(text, sizeof(text),
                              ", perhaps at its limit of %llu processes (--limit rank:procs)",
                              (unsigned long long)r->limits.pids.value);
    return at ? must(strdup(text)) : NULL;
}
