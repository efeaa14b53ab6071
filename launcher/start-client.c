/* SPDX-License-Identifier: BSD-3-Clause */
/* start-client.c - what a start client is called, and what is said of its end
 *
 * It may have ended before its host reported back (then it is the reason why the step ends), with
 * the host (the same), or because the start was cancelled (then it is none). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/log.h"
#include "launcher/run.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

const char *start_client_name(const struct run *r)
{
    if (r->cmd.agent)
        return r->cmd.agent[0];
    return r->adapter->client ? r->adapter->client : r->adapter->name;
}

const char *start_client_advice(const struct run *r, const char *why, char *buf, size_t n)
{
    buf[0] = 0;
    if (!r->cmd.agent && r->adapter->advice)
        r->adapter->advice(why, buf, n);
    return buf;
}

/* Why no starter came to be, or which start client has ended: its words, and the shell's codes for
 * a program that is not there. */
static void say_not_started(struct host *h, int status, const char *how)
{
    struct run *r = h->run;
    char why[800], what[500];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    start_words_reason(h, why, sizeof(why));
    const char *colon = *why ? ": " : "";
    if (h->is_starter)
        run_fail(r, EXIT_CODE_MPRUN, "host %s: mpstarter %s before it reported back%s%s", h->name,
                 how, colon, why);
    else if (code == EXIT_CODE_NOT_FOUND || code == EXIT_CODE_CANNOT_EXEC)
        run_fail(r, EXIT_CODE_MPRUN,
                 "host %s: '%s' %s there%s%s; install mprun %s on all hosts, or say with --prefix "
                 "where it is",
                 h->name, r->remote_path,
                 code == EXIT_CODE_NOT_FOUND ? "does not exist" : "cannot be executed", colon, why,
                 PACKAGE_VERSION);
    else if (*why && (code == 255 || code == EXIT_CODE_MPRUN))
        run_fail(r, EXIT_CODE_MPRUN, "host %s: %s%s", h->name, why,
                 start_client_advice(r, why, what, sizeof(what)));
    else
        run_fail(r, EXIT_CODE_MPRUN, "host %s: %s %s before mpstarter reported back%s%s%s", h->name,
                 start_client_name(r), how, colon, why,
                 start_client_advice(r, why, what, sizeof(what)));
}

/* The step ends for a reason of its own: neither this end nor the client's words are one. */
static void say_cancelled(struct host *h, const char *how)
{
    char why[800];
    start_words_reason(h, why, sizeof(why));
    log_debug("host %s: its start was cancelled, %s %s%s%s", h->name, start_client_name(h->run),
              how, *why ? ": " : "", why);
}

/* The end of a start client whose host was there. */
static void say_ended(struct host *h, const char *how)
{
    char why[800];
    start_words_reason(h, why, sizeof(why));
    const char *manager = h->run->adapter->ends_hosts;
    host_fails(h, 0, "%s %s%s%s%s; its ranks are ended%s%s",
               h->is_starter ? "mpstarter" : start_client_name(h->run), how, *why ? " (" : "", why,
               *why ? ")" : "", manager ? "; " : "", manager ? manager : "");
}

static void describe_status(int status, char *buf, size_t n)
{
    if (WIFSIGNALED(status))
        snprintf(buf, n, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(buf, n, "ended with code %d", WEXITSTATUS(status));
}

void start_client_say_end(struct host *h, int status)
{
    char how[160];
    describe_status(status, how, sizeof(how));
    if (h->cancelled)
        say_cancelled(h, how);
    else if (host_was_ended(h))
        log_debug("host %s: its start client %s, for the other's sake", h->name, how);
    else if (h->state < AGENT_CONNECTED)
        say_not_started(h, status, how);
    else
        say_ended(h, how);
}
