/* SPDX-License-Identifier: BSD-3-Clause */
/* start-through-hosts.c - hosts that are started by the starter of the host above them
 *
 * One client of the manager takes its time, and so many are on their way at once (start-many.h); of
 * many hosts mprun starts the first level, and each of these, when it has said HELLO, those below
 * it: an errand whose words are the adapter's. The client's output and status come back as news,
 * and are what they would be if mprun had started it. What cannot be started so, mprun starts.
 * A host that becomes an agent of the job connects to mprun. Its start client then belongs to the
 * agent of the host above, which ends after it. */
#include <string.h>

#include "common/log.h"
#include "launcher/tunables.h"
#include "launcher/start/starter-private.h"
#include "wire/messages/errand.h"
#include "wire/tree/tree.h"

/* An errand carries the step's key, which must not go over a link that is not encrypted. */
static bool may_carry_key(const struct step_plan *plan)
{
    return plan->transport == TRANSPORT_UNIX || plan->cmd->links.security == LINK_ENCRYPT;
}

void through_begin(struct starters *s)
{
    const struct step_plan *plan = s->plan;
    int64_t from = plan->cmd->start.tree;
    if (from < 0)
        from = plan->cmd->start.concurrency ? 0 : THROUGH_HOSTS;
    s->starts_through = from > 0 && (int64_t)plan->nused >= from && plan->fanout > 0 &&
                        plan->nused > plan->fanout && plan->adapter->remote_command &&
                        may_carry_key(plan) && plan->transport != TRANSPORT_STDIO;
}

bool through_is_elsewhere(const struct starter *st)
{
    return st->all->starts_through && !st->is_direct && host_above(st->host);
}

static void start_directly(struct starter *st)
{
    starter_client_ends(st);
    starter_forget(st);
    starter_retry(st);
}

static bool is_retried(struct starter *st, int status)
{
    if (!starter_may_have_channel(st, status))
        return false;
    log_debug("host %s: it is started by mprun itself: %s", st->host->name,
              client_stderr_held(&st->said));
    start_directly(st);
    return true;
}

/* An errand has the number of the host that it starts. */
void starters_errand_news(struct starters *s, const struct host *h, const Mprun__ErrandNews *m)
{
    struct starter *st = m->id < s->plan->nused ? &s->of[m->id] : NULL;
    if (!st || st->started_by != h)
        return;
    if (m->what == ERRAND_REFUSED || m->what == ERRAND_ENDED)
        st->started_by = NULL;
    if (m->what == ERRAND_REFUSED) {
        log_debug("host %s: it is started by mprun itself: %.*s", st->host->name, (int)m->text.len,
                  (const char *)m->text.data);
        start_directly(st);
    } else if (m->what == ERRAND_SAID) {
        client_stderr_add(&st->said, m->text.data, m->text.len);
    } else if (m->what == ERRAND_ENDED && !is_retried(st, m->status)) {
        starter_client_ended(st, m->status);
    }
}

void through_host_gone(struct starters *s, const struct host *h)
{
    for (size_t i = 0; i < s->plan->nused; i++) {
        struct starter *st = &s->of[i];
        if (st->started_by != h)
            continue;
        st->started_by = NULL;
        if (st->host->state < AGENT_CONNECTED && !verdict_is_ending(s->step.verdict))
            log_debug("host %s: the host that has started it has gone", st->host->name);
        starter_client_unknown(st);
    }
}

static int send(const struct starter *from, struct starter *st)
{
    struct starters *s = st->all;
    const char *words[REMOTE_COMMAND_WORDS];
    ProtobufCBinaryData argv[REMOTE_COMMAND_WORDS];
    uint8_t packed[PREAMBLE_MAX];
    struct error e;
    Mprun__Errand m = MPRUN__ERRAND__INIT;
    m.id = st->host->launch_index;
    m.n_argv = s->plan->adapter->remote_command(s->starting, (size_t)st->host->launch_index, words);
    uint32_t more_flags = st->agent == AGENT_MISSING ? PREAMBLE_AGENT : 0;
    int n = m.n_argv ? start_preamble(st, more_flags, packed, &e) : -1;
    if (n < 0)
        return -1;
    for (size_t i = 0; i < m.n_argv; i++)
        argv[i] = bytes_of(words[i]);
    m.argv = argv;
    m.input = (ProtobufCBinaryData){.data = packed, .len = (size_t)n};
    bool is_sent = host_send(from->host, FRAME_ERRAND, &m.base);
    explicit_bzero(packed, sizeof(packed));
    st->started_by = is_sent ? from->host : NULL;
    return is_sent ? 0 : -1;
}

/* Its result may be there before the news that it has begun. */
static void start(const struct starter *from, struct starter *st)
{
    if (send(from, st) < 0) {
        starter_retry(st);
        return;
    }
    log_debug("host %s: started from host %s", st->host->name, from->host->name);
    starter_client_begins(st, 0, false);
    client_stderr_open(&st->said, st->all->step.loop, st->host, st->all->step.failures, -1);
}

/* Not before it is known whether the job has an agent there. */
static bool is_to_be_started(const struct starter *st)
{
    return st->host->state == AGENT_WAITING && !st->is_direct && !agents_start_it(st) &&
           !verdict_is_ending(st->all->step.verdict);
}

void through_reported(struct starter *st)
{
    struct starters *s = st->all;
    uint32_t self = st->host->launch_index, nhosts = (uint32_t)s->plan->nused;
    uint32_t first = tree_first_child(self, s->plan->fanout, nhosts);
    for (uint32_t i = 0; s->starts_through && i < tree_children(self, s->plan->fanout, nhosts); i++)
        if (is_to_be_started(&s->of[first + i]))
            start(st, &s->of[first + i]);
}

void through_start(struct starter *st)
{
    const struct host *above = host_above(st->host);
    if (above->failed || above->state >= AGENT_REPORTED)
        starter_retry(st);
    else if (above->state >= AGENT_CONNECTED && is_to_be_started(st))
        start(starter_of(st->all, above), st);
}

bool through_hand_over(struct starter *st)
{
    bool has = st->started_by;
    st->started_by = NULL;
    return has;
}

/* mprun itself now starts the hosts that nobody has started yet; after a cancel the adapter says
 * so. */
void through_end(struct starters *s)
{
    for (size_t i = 0; s->starts_through && i < s->plan->nused; i++) {
        struct starter *st = &s->of[i];
        if (st->host->state == AGENT_WAITING && !st->is_direct && host_above(st->host))
            starter_retry(st);
    }
}
