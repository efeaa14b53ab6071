/* SPDX-License-Identifier: BSD-3-Clause */
/* starters.c - start clients and links as they come and go
 *
 * A starter is a start client (with its start channel and exit status) and a link; each may end
 * first, and both ends are needed before the host is gone. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/login-session.h"
#include "common/number.h"
#include "common/path.h"
#include "common/proc.h"
#include "containment/cgroup.h"
#include "launcher/run.h"
#include "wire/host-directory.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#define UNREACHABLE_SECONDS 10.0 /* to end, after the link grace */

enum { SWEEP_MS = 4000, SSH_FAILED = 255 };

/* ---- links ----------------------------------------------------------------------------------- */

static int claim(struct run *r, struct link *l, uint32_t host_id, struct error *why)
{
    if (host_id >= r->nused)
        return error_set(why, EINVAL, "there is no host %u in this step", host_id);
    struct host *h = r->launched[host_id];
    if (orphan_arrived(h, l))
        return 0;
    if (h->link || h->state > AGENT_STARTED)
        return error_set(why, EBUSY, "host %u ('%s') is taken already", host_id, h->name);
    h->link = l;
    link_set_events(l, &host_link_events, h);
    return 0;
}

static int arrived(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    return claim(arg, l, host_id, why);
}

/* The first few one by one, then when there are ten times as many: nobody can fill a log. */
static void refused(void *arg, const char *peer, const struct error *why)
{
    struct run *r = arg;
    if (why->code == 0) { /* closed */
        log_debug("a peer (%s) went away without a proof of the step's key, as a host does with "
                  "those of its tries that another one has overtaken",
                  peer);
        return;
    }
    r->nrefused++;
    uint64_t power = 10;
    while (power < r->nrefused)
        power *= 10;
    if (r->nrefused <= 3)
        log_warn("refused a peer (%s): %s", peer, why->text);
    else if (r->nrefused == power)
        log_warn("refused %llu peers so far, the last one (%s): %s",
                 (unsigned long long)r->nrefused, peer, why->text);
}

static struct link *returns(void *arg, uint32_t host_id)
{
    struct run *r = arg;
    return host_id < r->nused ? r->launched[host_id]->link : NULL;
}

const struct listen_events door_events = {
    .arrived = arrived, .returns = returns, .refused = refused};

/* ---- start clients --------------------------------------------------------------------------- */

static void describe_status(int status, char *buf, size_t n)
{
    if (WIFSIGNALED(status))
        snprintf(buf, n, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(buf, n, "ended with code %d", WEXITSTATUS(status));
}

/* By its own link, or through the host above it. Whose start client has ended may still have its
 * worker: it ends its ranks, cleans up and says so, and must not be disturbed. */
static int is_linked(struct host *h)
{
    return h->link ||
           (!h->worker_over && h->state >= AGENT_PLACED && h->state < AGENT_CLEANED && host_top(h));
}

int starters_has_client(const struct host *h)
{
    return h->channel_open && !h->nguests;
}

/* Whether its start client is over, or not waited for. */
static int client_is_over(const struct host *h)
{
    return !h->channel_open || (h->nguests && (h->failed || h->state >= AGENT_RELEASED));
}

static void host_gone(struct host *h)
{
    if (!client_is_over(h) || is_linked(h) || h->state == AGENT_GONE)
        return;
    start_channel_drain(h);
    start_words_close(h);
    if (h->failed && h->state < AGENT_CLEANED)
        starters_sweep(h);
    agent_enter(h, AGENT_GONE);
    errands_host_gone(h);
    step_changed(h->run);
}

const char *starters_client(const struct run *r)
{
    if (r->cmd.agent)
        return r->cmd.agent[0];
    return r->adapter->client ? r->adapter->client : r->adapter->name;
}

const char *starters_advice(const struct run *r, const char *why, char *buf, size_t n)
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
                 starters_advice(r, why, what, sizeof(what)));
    else
        run_fail(r, EXIT_CODE_MPRUN, "host %s: %s %s before mpstarter reported back%s%s%s", h->name,
                 starters_client(r), how, colon, why, starters_advice(r, why, what, sizeof(what)));
}

/* The step ends for a reason of its own: neither this end nor the client's words are one. */
static void say_cancelled(struct host *h, const char *how)
{
    char why[800];
    start_words_reason(h, why, sizeof(why));
    log_debug("host %s: its start was cancelled, %s %s%s%s", h->name, starters_client(h->run), how,
              *why ? ": " : "", why);
}

/* The end of a start client whose host was there. */
static void say_ended(struct host *h, const char *how)
{
    char why[800];
    start_words_reason(h, why, sizeof(why));
    const char *manager = h->run->adapter->ends_hosts;
    host_fails(h, 0, "%s %s%s%s%s; its ranks are ended%s%s",
               h->is_starter ? "mpstarter" : starters_client(h->run), how, *why ? " (" : "", why,
               *why ? ")" : "", manager ? "; " : "", manager ? manager : "");
}

void starters_forget(struct host *h)
{
    start_channel_close(h);
    start_words_drop(h);
    link_destroy(h->link);
    h->link = NULL;
    h->failed = h->lost = 0;
    agent_enter(h, AGENT_WAITING);
}

/* The adapter may have another way to start the host. */
static int starts_again(struct host *h, int status)
{
    struct run *r = h->run;
    if (h->state != AGENT_STARTED || r->killing || !r->adapter->again)
        return 0;
    const char *words = start_words_held(h);
    enum start_again again = r->adapter->again(r->starting, (size_t)h->launch_index, status, words);
    if (again == START_NOT)
        return 0;
    if (again == START_LATER)
        return handing_begin(h, words) == 0;
    log_debug("host %s: %s; it is started in another way", h->name, words);
    starters_forget(h);
    return 1;
}

/* A keeper that ends by itself has seen the end of its worker; ssh's 255 may mean anything. Where
 * we started the keeper, a worker without it is our child. */
static int worker_may_live(const struct host *h, int status)
{
    struct proc_stat st;
    if (WIFEXITED(status) && WEXITSTATUS(status) != SSH_FAILED)
        return 0;
    if (!h->is_starter || h->worker_pid <= 1)
        return 1;
    return proc_stat_read((pid_t)h->worker_pid, &st) == 0 && st.ppid == getpid() && st.state != 'Z';
}

/* Where another mprun may have started a starter as well, which of them has reported is not known:
 * its link tells of its end. */
static int may_be_anothers(struct host *h)
{
    return h->stray && h->state >= AGENT_CONNECTED && h->state < AGENT_CLEANED && is_linked(h);
}

static void channel_ended(struct host *h, int status)
{
    struct run *r = h->run;
    char how[160];
    h->channel_open = 0;
    if (starts_again(h, status) || may_be_anothers(h))
        return;
    if (h->link)
        link_read_rest(h->link); /* that it has joined another host, or was done */
    h->worker_over = !worker_may_live(h, status);
    describe_status(status, how, sizeof(how));
    /* a starter that was told to go, or that only said HELLO, ends with 0 */
    if (h->state < AGENT_CLEANED) {
        h->failed = 1;
        if (h->cancelled)
            say_cancelled(h, how);
        else if (host_was_ended(h))
            log_debug("host %s: its start client %s, for the other's sake", h->name, how);
        else if (h->state < AGENT_CONNECTED)
            say_not_started(h, status, how);
        else
            say_ended(h, how);
    }
    if (h->link)
        link_peer_ends(h->link);
    if (h->state < AGENT_CONNECTED && h->link && r->transport != TRANSPORT_STDIO) {
        link_destroy(h->link); /* who has not said HELLO has nothing to tell */
        h->link = NULL;
    }
    host_gone(h);
}

static void start_event(void *arg, size_t host, enum start_event event,
                        const struct start_channel *channel, int status, const struct error *err)
{
    struct run *r = arg;
    struct host *h = r->launched[host]; /* host counts those that have ranks */
    switch (event) {
    case START_CHANNEL_OPEN:
        if (channel->instead)
            log_debug("host %s: %s; mprun starts mpstarter itself, not by %s", h->name,
                      channel->instead, starters_client(r));
        start_channel_open(h, channel);
        break;
    case START_CHANNEL_ENDED:
        channel_ended(h, status);
        break;
    case START_FAILED:
        h->failed = 1;
        if (h->cancelled)
            log_debug("%s", err->text);
        else
            run_fail(r, EXIT_CODE_MPRUN, "%s", err->text);
        host_gone(h);
        break;
    }
    step_changed(r);
}

void starters_retry(struct host *h)
{
    h->direct = 1;
    h->run->adapter->retry(h->run->starting, (size_t)h->launch_index);
}

void starters_client_ended(struct host *h, int status)
{
    channel_ended(h, status);
    step_changed(h->run);
}

void starters_client_unknown(struct host *h)
{
    h->channel_open = 0;
    h->worker_over = 1;
    if (h->state < AGENT_CLEANED)
        h->failed = 1;
    host_gone(h);
    step_changed(h->run);
}

/* Its start client is ended, or, where that must not be, not waited for. */
static void abandon(struct host *h)
{
    struct run *r = h->run;
    if (!h->channel_open)
        return;
    if (r->starting && r->adapter->abandon) {
        r->adapter->abandon(r->starting, (size_t)h->launch_index);
        return;
    }
    h->channel_open = 0;
    host_gone(h);
}

/* Hosts below a lost one have had the time to notice, and to end by themselves. One that has never
 * reported back is reached by nobody, whoever is above it. */
static void abandon_unreachable(void *arg)
{
    struct run *r = arg;
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (!host_top(h) || h->state == AGENT_STARTED)
            abandon(h);
    }
}

static void abandon_after(struct run *r, double seconds)
{
    if (!r->lost_timer)
        r->lost_timer = loop_timer_create(r->loop, abandon_unreachable, r);
    if (r->lost_timer && !loop_timer_active(r->lost_timer))
        loop_timer_start(r->lost_timer, seconds, UNREACHABLE_SECONDS);
}

void starters_await_end(struct run *r)
{
    abandon_after(r, r->cmd.link_grace + UNREACHABLE_SECONDS);
}

void starters_lost(struct host *h, int silent)
{
    struct run *r = h->run;
    h->failed = 1;
    h->lost = 1;
    if (silent)
        abandon(h);
    r->unsettled = 1; /* those below it, too */
    step_changed(r);
    starters_await_end(r);
}

/* No host is there, and none will be. */
static void use_none(struct run *r)
{
    for (size_t i = 0; i < r->nhosts; i++)
        agent_enter(&r->hosts[i], AGENT_UNUSED);
}

/* Where start clients are not ended, those whose starters never come are not waited for. */
void starters_cancel(struct run *r)
{
    if (grants_forget(r))
        use_none(r);
    if (!r->starting)
        return;
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->state < AGENT_CONNECTED)
            r->launched[i]->cancelled = 1;
    r->adapter->cancel(r->starting);
    handing_cancel(r);
    through_end(r);
    if (!r->adapter->abandon)
        abandon_after(r, UNREACHABLE_SECONDS);
}

void starters_orphan_ended(struct run *r, pid_t pid)
{
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (h->channel_open || (pid_t)h->worker_pid != pid || !r->alloc.hosts[h->index].here)
            continue;
        h->worker_over = 1;
        r->unsettled = 1;
        step_changed(r);
    }
}

void starters_settle(struct run *r)
{
    if (!r->unsettled)
        return;
    r->unsettled = 0;
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->state >= AGENT_STARTED)
            host_gone(r->launched[i]);
}

void starters_released(struct host *h)
{
    if (start_channel_awaits_word(h))
        start_channel_close_input(h);
    host_gone(h);
}

void starters_host_gone(struct host *h)
{
    if (h->state < AGENT_RELEASED)
        h->failed = 1;
    host_gone(h);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

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

int starters_find(struct run *r, struct error *err)
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

struct start_request starters_request(struct run *r)
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
        .concurrency = r->cmd.start_concurrency,
        .event = start_event,
        .is_elsewhere = through_is_elsewhere,
        .arg = r,
    };
}

static int prepare(struct run *r, struct error *err)
{
    r->nforeign = proc_children(getpid(), &r->foreign);
    if (starters_find(r, err) < 0 || door_open(r, err) < 0 || silent_begin(r, err) < 0)
        return -1;
    if (used_hosts(r, &r->used) < 0)
        return error_errno(err, ENOMEM, "start on %zu host%s", r->nused, plural(r->nused));
    return 0;
}

static void begin(struct run *r)
{
    struct error e;
    struct start_request request = starters_request(r);
    request.allocation = &r->used;
    request.variables = (const char *const *)r->grants;
    through_begin(r);
    r->starting = r->adapter->start(&request, &e);
    if (r->starting) {
        progress_begin(r);
    } else {
        use_none(r);
        run_fail(r, EXIT_CODE_MPRUN, "%s", e.text);
    }
    step_changed(r);
}

void starters_begin(struct run *r)
{
    struct error e;
    if (prepare(r, &e) == 0) {
        grants_await(r, begin);
        return;
    }
    use_none(r);
    run_fail(r, EXIT_CODE_MPRUN, "%s", e.text);
}

void starters_fell_back(struct host *h, const char *why)
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
void starters_in_session(struct host *h, const char *session)
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

void starters_reported(struct host *h)
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
        log_note("hosts are started by '%s': %s", starters_client(r), r->adapter->loose);
}

void starters_close(struct run *r)
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

/* ---- after a starter that died --------------------------------------------------------------- */

/* Orphans of keeper and worker come to mprun, a subreaper where a host is this machine. Start
 * clients of other hosts are children as well, and stay; so do those of a shell that exec'ed
 * mprun. */
static int stays(const struct run *r, pid_t pid)
{
    if (suspension_has(r, pid))
        return 1;
    for (int i = 0; i < r->nforeign; i++)
        if (r->foreign[i] == pid)
            return 1;
    for (size_t i = 0; i < r->nhosts; i++) {
        struct host *h = &r->hosts[i];
        if (!h->channel_open && !is_linked(h))
            continue;
        if (h->client_pid == pid || (r->alloc.hosts[i].here && (pid_t)h->worker_pid == pid))
            return 1;
    }
    return 0;
}

static void kill_orphans(struct run *r)
{
    for (int round = 0; round < 200; round++) {
        pid_t *children = NULL;
        int n = proc_children(getpid(), &children), any = 0;
        for (int i = 0; i < n; i++) {
            if (children[i] <= 1 || stays(r, children[i]))
                continue;
            kill(children[i], SIGKILL);
            any = 1;
        }
        free(children);
        if (!any)
            return;
        sigset_t chld;
        struct timespec bit = {.tv_nsec = 20 * 1000 * 1000};
        sigemptyset(&chld);
        sigaddset(&chld, SIGCHLD);
        sigtimedwait(&chld, NULL, &bit);
        reaper_collect(r->reaper);
    }
}

/* Where the host's starter makes its cgroups, when it died before it could say: in this process's
 * own cgroup, or above the step's part of it, into which mprun may have been moved. */
static void sweep_place(void *arg, const struct cgroup_place *place, const struct error *why)
{
    struct host *h = arg;
    char inside[80], path[4096];
    const char *one = path;
    struct error e;
    if (!place)
        return;
    snprintf(inside, sizeof(inside), "/mprun.%s-%d", h->run->step.id, h->launch_index);
    for (int c = -1; c < CGROUP_CONTROLLER_COUNT; c++) {
        const char *parent = c < 0 ? place->v2 : place->v1[c];
        const char *end = parent ? strstr(parent, inside) : NULL;
        size_t n = end ? (size_t)(end - parent) : parent ? strlen(parent) : 0;
        if (parent && n + sizeof(inside) < sizeof(path)) {
            snprintf(path, sizeof(path), "%.*s%s", (int)n, parent, inside);
            if (cgroup_sweep(&one, 1, SWEEP_MS, &e) < 0)
                log_warn("host %s: %s", h->name, e.text);
        }
    }
}

static void sweep_cgroups(struct host *h)
{
    struct error e;
    size_t n = 0;
    while (h->cgroup_paths && h->cgroup_paths[n])
        n++;
    if (h->cgroup_paths) {
        if (n && cgroup_sweep((const char *const *)h->cgroup_paths, n, SWEEP_MS, &e) < 0)
            log_warn("host %s: %s", h->name, e.text);
    } else if (cgroup_source_own.acquire(h->run->loop, NULL, 0, sweep_place, h, &e) < 0) {
        log_debug("host %s: %s", h->name, e.text);
    }
}

static void sweep_directory(const char *path)
{
    struct error e;
    if (path_remove_tree(path, &e) < 0)
        log_warn("%s", e.text);
}

/* The directories that a host makes where `base` is its TMPDIR; it may have died before it said so.
 */
static void sweep_below(struct host *h, const char *base)
{
    char path[512], name[HOST_DIRECTORY_NAME];
    host_directory_name(name, h->run->key, (uint32_t)h->launch_index);
    snprintf(path, sizeof(path), "%s/%s", base, name);
    sweep_directory(path);
}

void starters_sweep(struct host *h)
{
    struct run *r = h->run;
    const char *tmp = getenv("TMPDIR");
    if (!r->alloc.hosts[h->index].here)
        return;
    sweep_cgroups(h);
    kill_orphans(r);
    for (size_t i = 0; h->directories && h->directories[i]; i++)
        sweep_directory(h->directories[i]);
    if (tmp && tmp[0] == '/')
        sweep_below(h, tmp);
    sweep_below(h, "/tmp");
    sweep_below(h, "/dev/shm");
}
