/* SPDX-License-Identifier: BSD-3-Clause */
/* why-client-ended.c - what is said of the end of a start client
 *
 * It may have ended before its host reported back (then it is the reason why the step ends), with
 * the host (the same), or because the start was cancelled (then it is none). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/log.h"
#include "launcher/outcome/host-failures.h"
#include "launcher/start/start-client-words.h"
#include "launcher/start/starter-private.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Why no starter came to be, or which start client has ended: its words, and the shell's codes for
 * a program that is not there. */
static void say_not_started(struct starter *st, int status, const char *how)
{
    const struct step_plan *plan = st->all->plan;
    struct verdict *v = st->all->step.verdict;
    char why[800], what[500];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    client_stderr_take_reason(st->said, why, sizeof(why));
    const char *colon = *why ? ": " : "";
    if (st->client_is_starter)
        verdict_fail(v, EXIT_CODE_MPRUN, "host %s: mpstarter %s before it reported back%s%s",
                     st->host->name, how, colon, why);
    else if (code == EXIT_CODE_NOT_FOUND || code == EXIT_CODE_CANNOT_EXEC)
        verdict_fail(
            v, EXIT_CODE_MPRUN,
            "host %s: '%s' %s there%s%s; install mprun %s on all hosts, or say with --prefix "
            "where it is",
            st->host->name, plan->remote_path,
            code == EXIT_CODE_NOT_FOUND ? "does not exist" : "cannot be executed", colon, why,
            PACKAGE_VERSION);
    else if (*why && (code == plan->adapter->lost_code || code == EXIT_CODE_MPRUN))
        verdict_fail(v, EXIT_CODE_MPRUN, "host %s: %s%s", st->host->name, why,
                     start_client_advice(plan, why, what, sizeof(what)));
    else
        verdict_fail(v, EXIT_CODE_MPRUN, "host %s: %s %s before mpstarter reported back%s%s%s",
                     st->host->name, start_client_name(plan), how, colon, why,
                     start_client_advice(plan, why, what, sizeof(what)));
}

/* The step ends for a reason of its own: neither this end nor the client's words are one. */
static void say_cancelled(struct starter *st, const char *how)
{
    char why[800];
    client_stderr_take_reason(st->said, why, sizeof(why));
    log_debug("host %s: its start was cancelled, %s %s%s%s", st->host->name,
              start_client_name(st->all->plan), how, *why ? ": " : "", why);
}

/* The end of a start client whose host was there. */
static void say_ended(struct starter *st, const char *how)
{
    char why[800];
    client_stderr_take_reason(st->said, why, sizeof(why));
    const char *manager = st->all->plan->adapter->ends_hosts;
    host_failures_add(
        st->all->step.failures, st->host, false, "%s %s%s%s%s; its ranks are ended%s%s",
        st->client_is_starter ? "mpstarter" : start_client_name(st->all->plan), how,
        *why ? " (" : "", why, *why ? ")" : "", manager ? "; " : "", manager ? manager : "");
}

static void describe_status(int status, char *buf, size_t n)
{
    if (WIFSIGNALED(status))
        snprintf(buf, n, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(buf, n, "ended with code %d", WEXITSTATUS(status));
}

void client_end_say(struct starter *st, int status)
{
    const struct host *h = st->host;
    char how[160];
    describe_status(status, how, sizeof(how));
    if (h->cancelled)
        say_cancelled(st, how);
    else if (host_failures_is_consequence(st->all->step.failures, h))
        log_debug("host %s: its start client %s, for the other's sake", h->name, how);
    else if (h->state < AGENT_CONNECTED)
        say_not_started(st, status, how);
    else
        say_ended(st, how);
}
