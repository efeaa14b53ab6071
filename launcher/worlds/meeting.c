/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/worlds/meeting.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/loop.h"
#include "launcher/start/agents.h"
#include "launcher/step/step-plan.h"
#include "wire/start-channel/holder-socket.h"

static void take_mprun(void *arg, struct link *l)
{
    const struct meeting *t = arg;
    t->events->arrived(t->arg, l);
}

void meeting_init(struct meeting *t, struct loop *loop, const struct step_plan *plan,
                  const struct meeting_events *events, void *arg)
{
    *t = (struct meeting){.loop = loop,
                          .plan = plan,
                          .events = events,
                          .arg = arg,
                          .holder_fd = -1,
                          .listeners = {.take_mprun = take_mprun, .arg = t}};
}

static void leave_holder(struct meeting *t)
{
    loop_io_destroy(take_ptr(t->holder_io));
    cleanup_close(&t->holder_fd);
    t->holder_owes = false;
}

void meeting_close(struct meeting *t)
{
    if (!t->loop)
        return;
    leave_holder(t);
    listeners_close(&t->listeners);
    explicit_bzero(t->key, sizeof(t->key));
}

/* ---- what the holder says -------------------------------------------------------------------- */

/* data: the step and the addresses of its mprun, each with its end, and the key. */
static void take_step(struct meeting *t, const struct holder_message *m)
{
    const char *step = (const char *)m->data;
    size_t nstep = strnlen(step, m->size) + 1;
    size_t n = nstep < m->size ? nstep + strnlen(step + nstep, m->size - nstep) + 1 : nstep;
    if (step[0] && n + LINK_KEY == m->size)
        t->events->met(t->arg, step, step + nstep, m->data + n);
}

static bool ask_holder(struct meeting *t, struct holder_message *m)
{
    m->what = HOLDER_MEET;
    t->holder_owes = holder_send(t->holder_fd, m, NULL) == 0;
    explicit_bzero(m->data, sizeof(m->data));
    return t->holder_owes;
}

static void holder_says(void *arg, int fd, unsigned events)
{
    struct meeting *t = arg;
    struct holder_message m;
    int rc = holder_receive(fd, &m, NULL);
    if (rc < 0)
        return;
    t->holder_owes = false;
    if (rc > 0 && m.what == HOLDER_MET && m.size > 0) {
        take_step(t, &m);
        explicit_bzero(m.data, m.size);
        m.size = 1; /* no host */
        rc = ask_holder(t, &m);
    }
    if (rc == 0)
        leave_holder(t);
    t->events->heard(t->arg);
}

/* ---- what it is told ------------------------------------------------------------------------- */

/* The user has said so. */
static bool may_not_listen(const struct step_plan *plan)
{
    enum transport chosen = plan->cmd->links.transport;
    return chosen == TRANSPORT_STDIO || chosen == TRANSPORT_UNIX;
}

static bool listens(struct meeting *t)
{
    struct error e;
    if (t->listeners.n)
        return true;
    randombytes_buf(t->key, sizeof(t->key));
    if (listeners_open_to_mpruns(&t->listeners, t->loop, t->plan, t->key, &e) == 0)
        return true;
    log_debug("mpruns on other hosts do not reach this one: %s", e.text);
    return false;
}

bool meeting_begin(struct meeting *t)
{
    const struct step_plan *plan = t->plan;
    struct holder_message m = {.size = 1}; /* no host */
    struct error e;
    if (t->holder_fd >= 0 || may_not_listen(plan) ||
        (t->holder_fd = agents_find_holder(plan, &e)) < 0)
        return false;
    if (!listens(t)) {
        leave_holder(t);
        return false;
    }
    int n = snprintf((char *)m.data + 1, sizeof(m.data) - 1, "%s%c%s", plan->step.id, 0,
                     t->listeners.addresses);
    memcpy(m.data + n + 2, t->key, LINK_KEY);
    m.size = (uint32_t)n + 2 + LINK_KEY;
    t->holder_io = loop_io_create(t->loop, t->holder_fd, LOOP_READ, holder_says, t);
    bool is_asked = ask_holder(t, &m);
    if (!is_asked)
        leave_holder(t);
    return is_asked;
}
