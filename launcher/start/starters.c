/* SPDX-License-Identifier: BSD-3-Clause */
/* starters.c - the start of a step's starters as a whole: its parts, beginning and end */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/path.h"
#include "common/log.h"
#include "common/must.h"
#include "common/processes/fault.h"
#include "common/processes/proc.h"
#include "common/processes/process-title.h"
#include "common/text/number.h"
#include "launcher/socket-directory.h"
#include "launcher/start/starter-private.h"
#include "launcher/tunables.h"
#include "starter/run.h"

struct starters *starters_create(const struct starters_step *step)
{
    size_t n = step->plan->nused;
    struct starters *s = must(calloc(1, sizeof(*s)));
    s->step = *step;
    s->plan = step->plan;
    grants_ask(&s->grants, s->plan);
    room_init(s);
    agents_init(&s->agents, s);
    s->of = must(calloc(n + 1, sizeof(*s->of)));
    for (size_t i = 0; i < n; i++)
        s->of[i] = (struct starter){
            .all = s, .host = step->hosts->used[i], .channel = {.in_fd = -1, .out_fd = -1}};
    return s;
}

void starters_destroy(struct starters *s)
{
    if (!s)
        return;
    grants_close(&s->grants);
    loop_timer_stop(&s->unreachable);
    room_end(s);
    free(s->foreign);
    free(s->of);
    free(s);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* In a copy of mprun: to execute a program takes longer than all that a starter does before it
 * reports back. */
static int run_starter(const char *path)
{
    fault_register("mprun", 0); /* no process of this one's */
    process_title_set("mpstarter");
    log_open("mpstarter", LOG_NOTE);
    log_set_sink(NULL, NULL);
    path_stand_for(path);
    return starter_run();
}

/* The kernel counts no rank as smaller than its starter was. */
static bool is_large(void)
{
    struct proc_sizes own;
    return proc_sizes_read(getpid(), &own) < 0 || own.anonymous > COPY_BYTES_MAX;
}

struct start_request starters_request(const struct step_plan *plan)
{
    static char *const argv[] = {"mpstarter", NULL};
    return (struct start_request){
        .starter_path = plan->starter_path,
        .run_starter = is_large() ? NULL : run_starter,
        .remote_path = plan->remote_path,
        .starter_argv = argv,
        .agent = plan->cmd->start.agent,
        .patience = plan->cmd->start.timeout,
        .soft_limits = plan->step.soft_limits,
        .umask = plan->step.umask,
        .concurrency = plan->cmd->start.concurrency,
    };
}

/* No host is there, and none will be. */
static void none_begins(struct starters *s)
{
    for (size_t i = 0; i < s->plan->nhosts; i++)
        host_enter(&s->step.hosts->all[i], AGENT_UNUSED);
}

static void cannot_begin(struct starters *s, const struct error *why)
{
    none_begins(s);
    verdict_fail(s->step.verdict, EXIT_CODE_MPRUN, "%s", why->text);
}

static int preamble_of_all(void *arg, uint8_t ret[START_PREAMBLE_MAX], struct error *err)
{
    _Static_assert((int)START_PREAMBLE_MAX >= (int)PREAMBLE_MAX, "the adapter's room for it");
    return start_preamble_of_all(arg, ret, err);
}

static bool is_elsewhere(void *arg, size_t host)
{
    const struct starters *s = arg;
    return agents_start_it(&s->of[host]) || through_is_elsewhere(&s->of[host]);
}

static bool is_agent(void *arg, size_t host)
{
    return ((const struct starters *)arg)->of[host].agent == AGENT_MISSING;
}

static bool is_agents(void *arg, const struct host *h, struct link *l)
{
    return agents_take_link(starter_of(arg, h), l);
}

static void begin(void *arg)
{
    struct starters *s = arg;
    struct error e;
    struct start_request request = starters_request(s->plan);
    request.loop = s->step.loop;
    request.reaper = s->step.reaper;
    request.event = starter_event;
    request.is_elsewhere = is_elsewhere;
    request.is_agent = is_agent;
    request.preamble = preamble_of_all;
    request.said = starter_said;
    request.arg = s;
    request.allocation = &s->plan->used;
    request.variables = (const char *const *)s->grants.variables;
    through_begin(s);
    s->starting = s->plan->adapter->start(&request, &e);
    if (s->starting) {
        agents_begin(&s->agents);
        start_timeout_begin(s);
    } else {
        cannot_begin(s, &e);
    }
    loop_defer_schedule(s->step.turn);
}

void starters_begin(struct starters *s)
{
    const struct starters_step *step = &s->step;
    struct error e;
    s->listeners.is_agents = is_agents;
    s->listeners.arg = s;
    sweep_prepare(s);
    cores_keep(step->cores, s);
    if (listeners_open(&s->listeners, step->loop, step->hosts, step->links, step->directory->path,
                       &e) == 0)
        grants_await(&s->grants, step->loop, begin, s);
    else
        cannot_begin(s, &e);
}

/* ---- on the way ------------------------------------------------------------------------------ */

/* A login has moved the host's starter to a session of its own. Said once: logins are configured in
 * the same way everywhere. Nothing is said where mprun itself is in a session: its user has started
 * the manager's daemons by hand, and has put everything there. */
static void say_session(struct starters *s, const struct host *h, const char *session)
{
    const char *advice = s->plan->adapter->in_login_session;
    char own[64];
    proc_login_session(own, sizeof(own));
    if (own[0] || !advice || s->said_session)
        return;
    s->said_session = true;
    log_warn("host %s: a login has put mpstarter into the session '%.60s'; %s", h->name, session,
             advice);
}

void starters_mprund_is_silent(struct starters *s, const struct host *h, const char *why)
{
    grants_mprund_is_silent(&s->grants, h->name, why);
}

/* The host is linked by its start channel because mprun cannot be reached from there. */
static void fell_back(struct starters *s, const struct host *h, const char *why)
{
    log_debug("host %s: %s", h->name, why);
    if (s->nfallback++ == 0)
        snprintf(s->fallback_text, sizeof(s->fallback_text), "%s (%s)", h->name, why);
    if (!host_above(h)) /* mprun has to start those below it for them to have a channel */
        through_end(s);
}

static void say_fallback(const struct starters *s)
{
    char others[64] = "";
    if (s->nfallback > 1)
        snprintf(others, sizeof(others), " and %zu other%s", s->nfallback - 1,
                 plural(s->nfallback - 1));
    log_note("mprun cannot be reached from %s%s: the start channel is used there, which is slower; "
             "--interface and --port-range choose where mprun listens",
             s->fallback_text, others);
}

static void all_reported(struct starters *s)
{
    room_end(s);
    log_debug("all hosts have reported back");
    if (s->nfallback > 0)
        say_fallback(s);
    if (s->plan->adapter->unaccounted && !s->plan->same_machine)
        log_note("hosts are started by '%s': %s", start_client_name(s->plan),
                 s->plan->adapter->unaccounted);
}

void starters_said_hello(struct starters *s, struct host *h, const char *why_stdio,
                         const char *login_session)
{
    const struct rm_adapter *a = s->plan->adapter;
    struct starter *st = starter_of(s, h);
    if (why_stdio[0])
        fell_back(s, h, why_stdio);
    if (login_session[0] && !st->client_is_starter)
        say_session(s, h, login_session);
    client_stderr_show_at_once(&st->said);
    start_channel_end_input(st); /* it will not ask for it any more */
    if (a->reported && s->starting)
        a->reported(s->starting, (size_t)h->launch_index);
    through_reported(st);
    if (++s->nreported == s->plan->nused)
        all_reported(s);
}

/* mprun does not wait for starters that never come, where it may not end their start clients, or
 * where an agent was to fork them. */
void starters_cancel(struct starters *s)
{
    bool may_end_all = s->plan->adapter->abandon != NULL;
    if (grants_forget(&s->grants))
        none_begins(s);
    if (!s->starting)
        return;
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].host->state < AGENT_CONNECTED) {
            host_mark_cancelled(s->of[i].host);
            may_end_all &= s->of[i].agent != AGENT_FORKS;
        }
    s->plan->adapter->cancel(s->starting);
    agents_cancel(&s->agents);
    room_cancel(s);
    through_end(s);
    if (!may_end_all)
        starters_abandon_after(s, UNREACHABLE_SECONDS);
}

void starters_close(struct starters *s)
{
    if (!s)
        return;
    s->plan->adapter->destroy(take_ptr(s->starting));
    listeners_close(&s->listeners);
    agents_close(&s->agents);
    cores_leave(s->step.cores);
    room_end(s);
    start_timeout_end(s);
    for (size_t i = 0; i < s->plan->nused; i++) {
        client_stderr_finish(&s->of[i].said);
        start_channel_close(&s->of[i]);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

bool starters_client_runs(const struct starters *s, const struct host *h)
{
    return starter_of(s, h)->client_runs;
}

bool starters_were_forked(const struct starters *s, const struct host *h)
{
    return s && starter_of(s, h)->agent == AGENT_FORKS && !starter_of(s, h)->has_made_agent;
}

bool starters_leave(struct starters *s)
{
    cores_leave(s->step.cores);
    return agents_leave(&s->agents);
}

void starters_wake_holder(const struct starters *s)
{
    agents_wake(&s->agents);
}

void starters_each_client(const struct starters *s,
                          void (*fn)(void *arg, const struct host *h, pid_t client), void *arg)
{
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].client_runs)
            fn(arg, s->of[i].host, s->of[i].client_pid);
}
