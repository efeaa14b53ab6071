/* SPDX-License-Identifier: BSD-3-Clause */
/* starting.c - the start of a step's starters as a whole: what the adapter is told, what is said
 * once hosts have reported back, and the end of all of it
 *
 * What becomes of each of them is starters.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/login-session.h"
#include "common/number.h"
#include "common/path.h"
#include "common/proc.h"
#include "launcher/run.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* The adapter is shown only the hosts that have ranks. */
static int used_hosts(struct run *r, struct allocation *ret)
{
    *ret = r->alloc;
    ret->hosts = calloc(r->nused, sizeof(*ret->hosts));
    ret->nhosts = 0;
    for (size_t i = 0; ret->hosts && i < r->nhosts; i++)
        if (r->hosts[i].state != AGENT_UNUSED)
            ret->hosts[ret->nhosts++] = r->alloc.hosts[i];
    return ret->hosts ? 0 : -1;
}

int starting_find(struct run *r, struct error *err)
{
    static const char *const beside[] = {"../starter/mpstarter", "../libexec/mprun/mpstarter",
                                         NULL};
    AUTO_FREE char *found = path_find_helper(beside, PKGLIBEXECDIR "/mpstarter", err);
    if (!found)
        return error_context(err, "find mpstarter");
    r->starter_path = realpath(found, NULL);
    if (!r->starter_path)
        return error_errno(err, errno, "find mpstarter: '%s'", found);
    if (!r->cmd.prefix)
        r->remote_path = strdup(r->starter_path);
    else if (asprintf(&r->remote_path, "%s/libexec/mprun/mpstarter", r->cmd.prefix) < 0)
        r->remote_path = NULL;
    return r->remote_path ? 0 : error_errno(err, ENOMEM, "find mpstarter");
}

struct start_request starting_request(struct run *r)
{
    static char *const argv[] = {"mpstarter", NULL};
    return (struct start_request){
        .loop = r->loop,
        .reaper = r->reaper,
        .starter_path = r->starter_path,
        .remote_path = r->remote_path,
        .starter_argv = argv,
        .agent = r->cmd.agent,
        .patience = r->cmd.start_timeout,
        .soft_limits = r->step.soft_limits,
        .umask = r->step.umask,
        .concurrency = r->cmd.start_concurrency,
        .event = starters_event,
        .is_elsewhere = through_is_elsewhere,
        .arg = r,
    };
}

static int prepare(struct run *r, struct error *err)
{
    r->nforeign = proc_children(getpid(), &r->foreign);
    if (starting_find(r, err) < 0 || door_open(r, err) < 0 || silent_begin(r, err) < 0)
        return -1;
    if (used_hosts(r, &r->used) < 0)
        return error_errno(err, ENOMEM, "start on %zu host%s", r->nused, plural(r->nused));
    return 0;
}

/* No host is there, and none will be. */
void starting_none(struct run *r)
{
    for (size_t i = 0; i < r->nhosts; i++)
        agent_enter(&r->hosts[i], AGENT_UNUSED);
}

static void begin(struct run *r)
{
    struct error e;
    struct start_request request = starting_request(r);
    request.allocation = &r->used;
    request.variables = (const char *const *)r->grants;
    through_begin(r);
    r->starting = r->adapter->start(&request, &e);
    if (r->starting) {
        progress_begin(r);
    } else {
        starting_none(r);
        run_fail(r, EXIT_CODE_MPRUN, "%s", e.text);
    }
    step_changed(r);
}

void starting_begin(struct run *r)
{
    struct error e;
    if (prepare(r, &e) == 0) {
        grants_await(r, begin);
        return;
    }
    starting_none(r);
    run_fail(r, EXIT_CODE_MPRUN, "%s", e.text);
}

void starting_fell_back(struct host *h, const char *why)
{
    struct run *r = h->run;
    log_debug("host %s: %s", h->name, why);
    if (!host_above(
            h)) /* those below it are not better off, and mprun has to start them for that */
        through_end(r);
    if (r->nfallback++ == 0)
        snprintf(r->fallback_text, sizeof(r->fallback_text), "%s (%s)", h->name, why);
}

/* One host is enough: they are all configured in the same way. Where mprun is in a session as well,
 * whoever started the manager's daemons by hand has put everything there. */
void starting_in_session(struct host *h, const char *session)
{
    struct run *r = h->run;
    char own[64];
    login_session_find(own, sizeof(own));
    if (own[0] == 0 && r->adapter->login_session && !h->is_starter && r->nsessions++ == 0)
        log_warn("host %s: a login has put mpstarter into the session '%.60s'; %s", h->name,
                 session, r->adapter->login_session);
}

static void say_fallback(const struct run *r)
{
    char others[64] = "";
    if (r->nfallback > 1)
        snprintf(others, sizeof(others), " and %zu other%s", r->nfallback - 1,
                 r->nfallback > 2 ? "s" : "");
    log_note("mprun cannot be reached from %s%s: the start channel is used there, which is slower; "
             "--interface and --port-range choose where mprun listens",
             r->fallback_text, others);
}

void starting_reported(struct host *h)
{
    struct run *r = h->run;
    start_words_reported(h);
    handing_reported(h);
    if (!h->terminal && h->is_ready) /* else another one than its client's has reported */
        start_channel_close_input(h);
    if (r->adapter->reported && r->starting)
        r->adapter->reported(r->starting, (size_t)h->launch_index);
    through_reported(h);
    r->nreported++;
    if (r->nreported == r->nused) {
        log_debug("all hosts have reported back");
        handing_end(r);
    }
    if (r->nreported == r->nused && r->nfallback > 0)
        say_fallback(r);
    if (r->nreported == r->nused && r->adapter->loose && !r->same_machine)
        log_note("hosts are started by '%s': %s", start_client_name(r), r->adapter->loose);
}

void starting_close(struct run *r)
{
    r->adapter->destroy(r->starting);
    r->starting = NULL;
    door_close(r);
    handing_end(r);
    errands_free(r);
    progress_end(r);
    silent_end(r);
    present_end(r);
    for (size_t i = 0; i < r->nhosts; i++) {
        link_destroy(r->hosts[i].link);
        r->hosts[i].link = NULL;
        start_words_close(&r->hosts[i]);
        link_destroy(r->hosts[i].first);
        r->hosts[i].first = NULL;
        orphan_leave(&r->hosts[i]);
        start_channel_close(&r->hosts[i]);
    }
    home_remove(r);
}
