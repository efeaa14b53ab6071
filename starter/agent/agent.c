/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/machine/cpus.h"
#include "common/processes/spawn.h"
#include "containment/cgroup/mounts.h"
#include "model/rank-end.h"
#include "plan/plain-machine.h"
#include "plan/topology.h"
#include "starter/agent/local-mpruns.h"
#include "starter/tunables.h"
#include "wire/link/key-proof.h"
#include "wire/start-channel/holder-socket.h"

struct agent {
    struct keeper *keeper;
    const uint8_t *key; /* of the channel, if it is a connection; NULL: it is not */
    uint32_t last;      /* number of the last message */
    bool has_started;
    double heard;    /* loop_now() of the holder's last message */
    bool is_ending;  /* the agent starts nothing more */
    bool is_unheard; /* nothing more comes on the channel */
    struct polled polled;
    struct local_mpruns local;
};

static void tell_status(uint32_t number, int status)
{
    char line[AGENT_LINE_MAX];
    size_t n = agent_ended_line(number, status, line);
    if (fd_write_all(STDOUT_FILENO, line, n) < 0)
        log_debug("nobody is told that starter %u has ended", (unsigned)number);
}

static void tell_ended(void *arg, uint32_t number, int code)
{
    tell_status(number, W_EXITCODE(code, 0));
}

/* Forks. Returns whether this is the worker. */
static bool start(struct agent *a, uint32_t number, const struct preamble *p,
                  struct kept_worker *ret, struct error *err)
{
    char name[AGENT_STARTER_NAME];
    agent_starter_name(number, name);
    if (keeper_fork(a->keeper, name, p->flags & PREAMBLE_VERBOSE ? LOG_DEBUG : LOG_NOTE, number,
                    ret, err) != 0) {
        if (err->code)
            tell_ended(NULL, number, EXIT_CODE_MPRUN);
        return false;
    }
    prctl(PR_SET_NAME, "mpstarter");
    local_mpruns_close(&a->local);
    free(a->polled.all);
    ret->is_agent = true;
    return true;
}

/* What every step reads: the forked workers have it. A job of one step needs none of it. */
static void look_at_machine(void)
{
    AUTO(idset_free) struct idset threads = {0};
    topology_look();
    if (cpus_allowed(&threads, NULL) == 0) {
        plain_machine_look(&threads);
        (void)cpus_count_cores(&threads);
    }
    cgroup_mounts_once(NULL);
    handshake_library_init(NULL);
}

/* Returns whether this is the worker of the step in *ret. An agent that is ending starts nothing,
 * and says so. */
static bool take_start(struct agent *a, const struct agent_message *m, struct preamble *ret,
                       struct kept_worker *ret_worker, struct error *err)
{
    bool is_worker = false;
    if (a->has_started)
        look_at_machine();
    a->has_started = true;
    if (a->is_ending)
        tell_status(m->number, AGENT_REFUSES);
    else if (preamble_unpack(m->data, m->n, ret, err) < 0)
        tell_ended(NULL, m->number, EXIT_CODE_MPRUN);
    else
        is_worker = start(a, m->number, ret, ret_worker, err);
    if (!is_worker)
        explicit_bzero(ret, sizeof(*ret));
    return is_worker;
}

static void listen_for_mpruns(struct agent *a, const struct agent_message *m)
{
    char job[HOLDER_JOB_MAX];
    snprintf(job, sizeof(job), "%.*s", (int)m->n, (const char *)m->data);
    local_mpruns_listen(&a->local, job, a->key);
}

/* Returns whether this is the worker of the step in *ret. */
static bool take_message(struct agent *a, struct preamble *ret, struct kept_worker *ret_worker)
{
    struct error e = {0};
    struct agent_message m;
    bool is_worker = false;
    a->heard = loop_now();
    if (agent_message_read(STDIN_FILENO, a->key, &m, &e) < 0 || m.what == AGENT_ENDS) {
        a->is_ending = a->is_unheard = true;
    } else if (m.number > a->last) { /* a repeated number does not come from the holder */
        a->last = m.number;
        if (m.what == AGENT_START)
            is_worker = take_start(a, &m, ret, ret_worker, &e);
        else if (m.what == AGENT_LISTEN)
            listen_for_mpruns(a, &m);
        else if (m.what == AGENT_PASS)
            local_mpruns_pass(&a->local, m.data, m.n);
    }
    if (e.code)
        log_error("on %s: %s", a->keeper->host, e.text);
    explicit_bzero(&m, sizeof(m));
    return is_worker;
}

/* The connection becomes standard input and output, and the standard error of all starters. */
int agent_open_channel(const char *hostname, struct preamble *p, uint8_t ret_key[LINK_KEY])
{
    struct error e;
    if (!p->addresses[0])
        return 0;
    AUTO_CLOSE int fd = agent_connect(p, CONNECT_SECONDS, ret_key, &e);
    explicit_bzero(p->key, sizeof(p->key));
    if (fd < 0) {
        log_error("on %s: %s", hostname, e.text);
        return -1;
    }
    for (int to = STDIN_FILENO; to <= STDERR_FILENO; to++)
        dup2(fd, to);
    return 1;
}

/* Polls the channel, the keeper's descriptors, and those of local mpruns. Returns the number of the
 * first one of these. */
static size_t await_events(struct agent *a)
{
    struct polled *p = &a->polled;
    p->n = 0;
    polled_add(p, a->is_unheard ? -1 : STDIN_FILENO, POLLIN);
    keeper_poll(a->keeper, p);
    size_t local = p->n;
    local_mpruns_poll(&a->local, p);
    if (poll(p->all, p->n, AGENT_SILENCE_SECONDS * 1000) < 0)
        for (size_t i = 0; i < p->n; i++)
            p->all[i].revents = 0;
    return local;
}

/* Signals end the agent, too, unless agents that this one has started still run: then this one
 * would stay with them, and start nothing. */
static bool is_to_end(struct keeper *k)
{
    static const uint64_t passed = UINT64_C(1) << SIGUSR1 | UINT64_C(1) << SIGUSR2;
    bool is_signal = k->signals & ~passed && k->errands.n == 0;
    k->signals = 0;
    return is_signal || k->anchor == 0;
}

/* Takes what has come. Returns whether this is the worker of the step in *ret. */
static bool take_events(struct agent *a, size_t local, struct preamble *ret,
                        struct kept_worker *ret_worker)
{
    const struct pollfd *p = a->polled.all;
    bool has_message = p[0].revents;
    local_mpruns_take(&a->local, p + local);
    keeper_take(a->keeper, p + 1, tell_ended, NULL);
    a->is_ending |= is_to_end(a->keeper);
    if (a->is_ending)
        local_mpruns_close(&a->local);
    return has_message && take_message(a, ret, ret_worker);
}

/* Returns whether the holder has spoken in time. A suspended holder may speak again. */
static bool is_needed(const struct agent *a)
{
    return keeper_is_needed(a->keeper) ||
           !(a->is_ending || loop_now() - a->heard >= AGENT_SILENCE_SECONDS);
}

int agent_run(struct keeper *keeper, const uint8_t *key, struct preamble *ret,
              struct kept_worker *ret_worker)
{
    struct agent a = {.keeper = keeper, .key = key, .heard = loop_now(), .local.listen_fd = -1};
    prctl(PR_SET_NAME, "mprun-agent");
    if (chdir("/") < 0)
        log_debug("stays in its directory: %s", strerror(errno));
    /* A group without processes vanishes, and the manager ends the task by a KILL to the group,
     * which the agent has to see and survive. */
    keeper->anchor = spawn_idle("mprun-agent");
    keeper_begin(keeper);
    while (is_needed(&a))
        if (take_events(&a, await_events(&a), ret, ret_worker))
            return -1;
    local_mpruns_close(&a.local);
    keeper->anchor = 0;
    keeper_kill_orphans(keeper);
    free(a.polled.all);
    return EXIT_CODE_OK;
}
