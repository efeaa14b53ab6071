/* SPDX-License-Identifier: BSD-3-Clause */
/* agents.c - see agents.h */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/text/number.h"
#include "common/processes/proc.h"
#include "common/processes/spawn.h"
#include "launcher/outcome/host-failures.h"
#include "launcher/start/starter-private.h"
#include "launcher/tunables.h"
#include "wire/link/link.h"
#include "wire/start-channel/holder-socket.h"

/* ---- the holder ------------------------------------------------------------------------------ */

/* The process whose end is the job's: the leader of the session, as a job's script and a login
 * shell are; where that has ended, as some managers have it, the user's own that is nearest to it;
 * or who has started mprun. 0: none is known. */
static pid_t job_process(void)
{
    pid_t leader = getsid(0), above = getppid();
    struct proc_stat ps;
    if (leader > 1 && leader != getpid() && (kill(leader, 0) == 0 || errno == EPERM))
        return leader;
    while (leader != getpid() && proc_stat_read(above, &ps) == 0 && ps.ppid > 1 &&
           getsid(ps.ppid) == leader && kill(ps.ppid, 0) == 0)
        above = ps.ppid;
    return above > 1 ? above : 0;
}

/* Where no manager has given the job a number, it is the session; "": that is not known. */
static void name_job(const struct step_plan *plan, char ret[HOLDER_JOB_MAX])
{
    const struct allocation *alloc = &plan->alloc;
    struct proc_stat ps = {0};
    char process[16];
    ret[0] = 0;
    snprintf(process, sizeof(process), "%d", (int)job_process());
    if (alloc->job_id[0])
        holder_name_job(plan->adapter->name, alloc->job_id,
                        hash_bytes(alloc->cluster, strlen(alloc->cluster)), ret);
    else if (proc_stat_read(job_process(), &ps) == 0)
        holder_name_job(plan->adapter->name, process, ps.starttime, ret);
}

/* Does the step start agents? By default where a manager may have no room for another step's task,
 * which has its starter from this one's agent; and where mpruns that its ranks start on other hosts
 * are to find the queue of --wait-cores. */
static bool has_agents(const struct step_plan *plan)
{
    if (plan->cmd->start.keep != KEEP_AS_NEEDED)
        return plan->cmd->start.keep != KEEP_NO;
    return plan->adapter->again || (plan->waits && plan->alloc.job_id[0]);
}

int agents_find_holder(const struct step_plan *plan, struct error *err)
{
    char job[HOLDER_JOB_MAX];
    name_job(plan, job);
    return holder_connect(job, err);
}

/* Returns a connection. */
static int start_holder(const struct step_plan *plan, const char *name, int listen_fd,
                        pid_t *ret_holder, struct error *err)
{
    char job[16];
    char *const argv[] = {"mpstarter", "--hold", job, NULL};
    struct spawn s;
    AUTO_CLOSE int fd = holder_connect(name, err); /* a holder that nobody needs ends */
    if (fd < 0)
        return -1;
    snprintf(job, sizeof(job), "%d", (int)job_process());
    spawn_init(&s);
    s.path = plan->starter_path;
    s.argv = argv;
    s.envp = environ;
    s.directory = "/";
    s.fds[0] = listen_fd;
    s.new_session = 1;
    *ret_holder = spawn_process(&s, NULL, err);
    return *ret_holder > 0 ? take_fd(&fd) : -1;
}

/* Another mprun of the job may do the same at the same time: one of them gets the name, and listens
 * a moment later. */
int agents_reach_holder(const struct step_plan *plan, bool starts_it, pid_t *ret_holder,
                        struct error *err)
{
    const struct timespec bit = {.tv_nsec = HOLDER_WAIT_NS};
    char job[HOLDER_JOB_MAX];
    name_job(plan, job);
    if (!job[0])
        return error_set(err, ESRCH, "the job's process is not known");
    for (int i = 0; i < HOLDER_TRIES; i++) {
        int fd = holder_connect(job, err);
        *ret_holder = fd < 0 ? 0 : holder_pid(fd);
        if (fd >= 0 || err->code != ECONNREFUSED || !starts_it)
            return fd;
        AUTO_CLOSE int listen_fd = holder_listen(job, err);
        if (listen_fd < 0 && err->code != EADDRINUSE)
            return -1;
        if (listen_fd >= 0)
            return start_holder(plan, job, listen_fd, ret_holder, err);
        nanosleep(&bit, NULL);
    }
    return -1;
}

/* ---- what the holder is told ----------------------------------------------------------------- */

/* The name of the host's agent: all that has to be the same for it to serve this step. */
static int name_agent(const struct starter *st, char *buf, size_t n)
{
    const struct step_plan *plan = st->all->plan;
    const struct alloc_host *h = &plan->alloc.hosts[st->host->index];
    int length = snprintf(buf, n, "%s %s %s", h->name, plan->remote_path, start_client_name(plan));
    return length > 0 && (size_t)length < n ? length + 1 : -1;
}

/* data: what follows the name. False: there is no holder any more. */
static bool tell_by(int fd, const struct starter *st, enum holder_what what, const void *data,
                    size_t n, const int fds[HOLDER_FDS])
{
    struct holder_message m = {
        .what = what, .host = st->host->launch_index, .value = st->client_pid};
    int length = name_agent(st, (char *)m.data, sizeof(m.data));
    if (length < 0 || (size_t)length + n > sizeof(m.data))
        return false;
    if (n > 0)
        memcpy(m.data + length, data, n);
    m.size = (uint32_t)((size_t)length + n);
    int rc = holder_send(fd, &m, fds);
    explicit_bzero(m.data, sizeof(m.data));
    return rc == 0;
}

static bool tell(const struct starter *st, enum holder_what what, const void *data, size_t n,
                 const int fds[HOLDER_FDS])
{
    return tell_by(st->all->agents.fd, st, what, data, n, fds);
}

/* About no host. */
static bool tell_of_step(const struct agents *a, enum holder_what what, int value)
{
    struct holder_message m = {.what = what, .value = value, .size = 1};
    return holder_send(a->fd, &m, NULL) == 0;
}

static bool tell_to_fork(struct starter *st)
{
    uint8_t packed[PREAMBLE_MAX];
    struct error e;
    int n = start_preamble(st, 0, packed, &e);
    bool is_told = n > 0 && tell(st, HOLDER_START, packed, (size_t)n, NULL);
    explicit_bzero(packed, sizeof(packed));
    if (is_told)
        st->agent = AGENT_FORKS;
    return is_told;
}

/* ---- one host -------------------------------------------------------------------------------- */

static void start_without_agent(struct starter *st)
{
    st->agent = AGENT_NOT_USED;
    starter_forget(st);
    starter_retry(st);
}

static void begins(struct starter *st)
{
    starter_client_begins(st, 0, false);
    client_stderr_open(&st->said, st->all->step.loop, st->host, st->all->step.failures, -1);
}

/* The host's agent is there. */
static void use(struct starter *st)
{
    if (verdict_is_ending(st->all->step.verdict) || !tell_to_fork(st)) {
        start_without_agent(st); /* after a cancel the adapter says that it was not begun */
        return;
    }
    log_debug("host %s: the job's agent there forks the starter", st->host->name);
    begins(st);
}

/* The holder has told this mprun to start the agent. */
static void start_missing(struct starter *st)
{
    st->agent = AGENT_MISSING;
    if (!has_agents(st->all->plan)) {
        agents_cannot(st);
        st->agent = AGENT_NOT_USED;
    }
    if (through_is_elsewhere(st))
        through_start(st);
    else
        st->all->plan->adapter->retry(st->all->starting, (size_t)st->host->launch_index);
}

/* All at once: one start client may start them. */
static void start_wanted(struct starters *s)
{
    for (size_t i = 0; s->agents.nasked == 0 && i < s->plan->nused; i++)
        if (s->of[i].agent == AGENT_WANTED)
            start_missing(&s->of[i]);
}

static void ask_for(struct starter *st)
{
    st->agent = AGENT_ASKED_FOR;
    st->all->agents.nasked++;
    tell(st, HOLDER_ASK, NULL, 0, NULL); /* if it has gone, that is seen */
}

/* Starts the host again if its starter has not reported back: the agent may not have forked it.
 * Where it was ending, the job needs another one. */
static bool is_forked_anew(struct starter *st)
{
    if (st->host->state != AGENT_STARTED || verdict_is_ending(st->all->step.verdict))
        return false;
    log_debug("host %s: the job's agent there has gone", st->host->name);
    st->is_started_twice = true;
    starter_client_ends(st);
    if (st->is_asked_again) {
        start_without_agent(st);
    } else {
        st->is_asked_again = true;
        starter_forget(st);
        ask_for(st);
    }
    return true;
}

/* The agent is gone, or its start client: what the manager ends there is not known any more. */
static void agent_is_gone(struct starter *st)
{
    const struct step_plan *plan = st->all->plan;
    struct host *h = st->host;
    char name[128];
    if (is_forked_anew(st) || !st->client_runs)
        return;
    if (h->link)
        link_read_rest(h->link); /* that it was done */
    starter_client_ends(st);
    if (h->state < AGENT_CLEANED) {
        host_mark_failed(h);
        host_failures_add(st->all->step.failures, h, true, EXIT_CODE_MPRUN,
                          "%s has gone, and the job's agent there with it; its ranks are ended%s",
                          starter_client_name(plan, name, sizeof(name)), start_client_killer(plan));
    }
    starters_unsettle(st->all);
}

/* The holder is gone, and with it the news of the starter's end: the end of its link says it. */
static void nobody_tells(struct starter *st)
{
    if (is_forked_anew(st) || !st->client_runs)
        return;
    starter_client_ends(st);
    starters_unsettle(st->all);
}

static void starter_ended(struct starter *st, int status)
{
    if (!starter_may_have_channel(st, status)) {
        starter_client_ended(st, status);
        return;
    }
    starter_client_ends(st);
    start_without_agent(st);
}

/* For the holder's word. */
static bool is_waiting(const struct starter *st)
{
    return st->agent == AGENT_ASKED_FOR || st->agent == AGENT_AWAITED;
}

static void take(struct starter *st, const struct holder_message *m)
{
    bool is_asked = st->agent == AGENT_ASKED_FOR;
    if (is_asked)
        st->all->agents.nasked--;
    if (m->what == HOLDER_WAIT && is_asked) {
        st->agent = AGENT_AWAITED;
    } else if (m->what == HOLDER_HAS && is_waiting(st)) {
        use(st);
    } else if (m->what == HOLDER_NONE && is_waiting(st)) {
        st->agent = AGENT_WANTED;
    } else if (m->what == HOLDER_ABSENT && is_waiting(st)) {
        start_without_agent(st);
    } else if (st->agent == AGENT_FORKS && m->what == HOLDER_SAID) {
        client_stderr_add(&st->said, m->data, m->size);
    } else if (st->agent == AGENT_FORKS && m->what == HOLDER_ENDED && st->client_runs) {
        starter_ended(st, m->value);
    } else if (st->agent == AGENT_FORKS && m->what == HOLDER_GONE) {
        agent_is_gone(st);
    }
}

static void readable(void *arg, int fd, unsigned events);

/* Its start has not begun. */
static bool is_to_come(const struct starter *st)
{
    return is_waiting(st) || st->agent == AGENT_WANTED;
}

/* Asks for the hosts that are to be asked for; false: there are no agents. */
static bool ask(struct agents *a)
{
    struct starters *s = a->starters;
    double keep = s->plan->cmd->explain ? KEEP_STEP : s->plan->cmd->start.keep;
    struct error e = {0};
    a->fd = agents_reach_holder(s->plan, has_agents(s->plan), &a->holder, &e);
    sweep_spare(s, a->holder);
    a->io = a->fd < 0 ? NULL : loop_io_create(s->step.loop, a->fd, LOOP_READ, readable, a);
    if (!a->io) {
        log_debug("the job has no agents: %s", a->fd < 0 ? e.text : "out of memory");
        agents_close(a);
        return false;
    }
    if (keep > 0 || keep == KEEP_JOB)
        tell_of_step(a, HOLDER_KEEP, keep < 0 ? -1 : keep < 1e6 ? (int)(keep * 1000) : INT32_MAX);
    a->nasked = 0;
    for (size_t i = 0; i < s->plan->nused; i++)
        if (is_to_come(&s->of[i]))
            ask_for(&s->of[i]);
    return true;
}

static void holder_is_gone(struct agents *a)
{
    struct starters *s = a->starters;
    bool is_to_ask = false;
    log_debug("the holder of the job's agents has gone");
    agents_close(a);
    for (size_t i = 0; i < s->plan->nused; i++) {
        if (s->of[i].agent == AGENT_FORKS)
            nobody_tells(&s->of[i]);
        is_to_ask |= is_to_come(&s->of[i]);
    }
    if (!is_to_ask || (!a->is_leaving && a->again++ < HOLDER_AGAIN && ask(a)))
        return;
    for (size_t i = 0; i < s->plan->nused; i++)
        if (is_to_come(&s->of[i]))
            start_without_agent(&s->of[i]);
}

static void readable(void *arg, int fd, unsigned events)
{
    struct agents *a = arg;
    struct holder_message m;
    int rc;
    while ((rc = holder_receive(fd, &m, NULL)) > 0) {
        if (m.what != HOLDER_BYE && m.host < a->starters->plan->nused)
            take(&a->starters->of[m.host], &m);
        if (m.what == HOLDER_BYE || a->fd < 0)
            break;
    }
    if (rc > 0)
        agents_close(a);
    else if (rc == 0)
        holder_is_gone(a);
    else
        start_wanted(a->starters);
    loop_defer_schedule(a->starters->step.turn);
}

/* ---- what others ask ------------------------------------------------------------------------- */

bool agents_start_it(const struct starter *st)
{
    return is_to_come(st) || st->agent == AGENT_FORKS;
}

/* The preamble that makes the process an agent goes first: as soon as the holder has the channel,
 * other mpruns send starts over it. */
static bool make_agent(const struct starter *st)
{
    struct preamble p = {.flags = PREAMBLE_AGENT};
    uint8_t packed[PREAMBLE_MAX];
    struct error e;
    int n = preamble_pack(&p, packed, &e);
    return n > 0 && fd_write_all(st->channel.in_fd, packed, (size_t)n) == 0;
}

static bool give(struct starter *st, int client_fd)
{
    const struct client_channel *c = &st->channel;
    const int fds[HOLDER_FDS] = {c->in_fd, c->out_fd, st->said.fd},
              client[HOLDER_FDS] = {client_fd, -1};
    const int connection[HOLDER_FDS] = {c->in_fd, c->in_fd, -1};
    struct holder_message m = {.what = HOLDER_CLIENT, .size = 1};
    if (c->out_fd >= 0)
        return make_agent(st) && tell(st, HOLDER_GIVE, NULL, 0, fds);
    return tell(st, HOLDER_GIVE, st->agent_key, sizeof(st->agent_key), connection) &&
           (client_fd < 0 || holder_send(st->all->agents.fd, &m, client) == 0);
}

/* The holder has it from now on. */
static void hand_over(struct starter *st, int client_fd)
{
    bool is_given = give(st, client_fd) && tell_to_fork(st);
    st->has_made_agent = is_given;
    if (st->client_pid)
        sweep_spare(st->all, st->client_pid);
    st->client_pid = 0;
    client_stderr_hand_over(&st->said);
    start_channel_close(st); /* an agent that nobody has ends with it */
    if (!is_given) {
        starter_client_ends(st);
        start_without_agent(st);
    } else if (!st->client_runs) { /* its agent was faster than the news of its start */
        begins(st);
    }
}

/* mpstarter that mprun has forked itself needs no manager, and is no agent. */
bool agents_take(struct starter *st)
{
    int none;
    if (st->agent != AGENT_MISSING)
        return false;
    if (st->client_is_starter || st->said.fd < 0 || st->all->agents.fd < 0 ||
        !st->all->plan->adapter->hand_over(st->all->starting, (size_t)st->host->launch_index,
                                           &none)) {
        agents_cannot(st);
        st->agent = AGENT_NOT_USED;
        return false;
    }
    hand_over(st, -1);
    return true;
}

bool agents_has_come(const struct starter *st)
{
    return st->agent == AGENT_MISSING && st->channel.in_fd >= 0 && st->channel.out_fd < 0;
}

static bool take_one(struct starter *st)
{
    struct starters *s = st->all;
    int client_fd = -1;
    if (!agents_has_come(st) ||
        (!through_hand_over(st) &&
         !s->plan->adapter->hand_over(s->starting, (size_t)st->host->launch_index, &client_fd)))
        return false;
    hand_over(st, client_fd);
    cleanup_close(&client_fd);
    return true;
}

bool agents_take_link(struct starter *st, struct link *l)
{
    struct starters *s = st->all;
    if (st->agent != AGENT_MISSING || st->channel.out_fd >= 0) /* an agent has one channel */
        return false;
    start_channel_close_input(st);
    st->channel.in_fd = link_release(l, st->agent_key);
    if (verdict_is_ending(s->step.verdict))
        start_channel_close_input(st);
    else if (take_one(st)) /* perhaps the last one of its start client */
        for (size_t i = 0; i < s->plan->nused; i++)
            take_one(&s->of[i]);
    return true;
}

bool agents_make_room(struct starter *st)
{
    struct error e;
    AUTO_CLOSE int fd = agents_find_holder(st->all->plan, &e);
    return fd >= 0 && tell_by(fd, st, HOLDER_LEAVE, NULL, 0, NULL);
}

void agents_cannot(struct starter *st)
{
    if (st->agent == AGENT_MISSING)
        tell(st, HOLDER_CANNOT, NULL, 0, NULL);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* An agent that does not end is left to the manager. */
static void too_late(void *arg)
{
    struct agents *a = arg;
    log_debug("the job's agents have not ended within %g s", UNREACHABLE_SECONDS);
    agents_close(a);
    loop_defer_schedule(a->starters->step.turn);
}

void agents_init(struct agents *a, struct starters *s)
{
    *a = (struct agents){.starters = s, .fd = -1};
    loop_timer_init(&a->patience, s->step.loop, too_late, a);
}

static void use_none(struct starters *s)
{
    for (size_t i = 0; i < s->plan->nused; i++)
        s->of[i].agent = AGENT_NOT_USED;
}

void agents_begin(struct agents *a)
{
    struct starters *s = a->starters;
    char name[HOLDER_DATA_MAX];
    if (s->plan->transport == TRANSPORT_STDIO || !s->plan->adapter->hand_over)
        return;
    for (size_t i = 0; i < s->plan->nused; i++)
        if (name_agent(&s->of[i], name, sizeof(name)) > 0)
            s->of[i].agent = AGENT_ASKED_FOR;
    if (!ask(a))
        use_none(s);
}

void agents_cancel(struct agents *a)
{
    struct starters *s = a->starters;
    for (size_t i = 0; i < s->plan->nused; i++)
        if (is_to_come(&s->of[i]))
            start_without_agent(&s->of[i]);
        else if (agents_has_come(&s->of[i]))
            start_channel_close_input(&s->of[i]); /* the agent ends */
}

void agents_wake(const struct agents *a)
{
    if (a->fd >= 0 && a->holder > 1)
        kill(a->holder, SIGCONT);
}

bool agents_leave(struct agents *a)
{
    if (a->fd >= 0 && !a->is_leaving) {
        a->is_leaving = true;
        loop_timer_start(&a->patience, UNREACHABLE_SECONDS, 0);
        if (!tell_of_step(a, HOLDER_OVER, 0))
            agents_close(a);
    }
    return a->fd < 0;
}

void agents_close(struct agents *a)
{
    loop_timer_stop(&a->patience);
    loop_io_destroy(take_ptr(a->io));
    cleanup_close(&a->fd);
}
