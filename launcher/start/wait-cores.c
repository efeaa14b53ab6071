/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/start/wait-cores.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/text/number.h"
#include "launcher/start/starter-private.h"
#include "launcher/tunables.h"
#include "wire/start-channel/holder-socket.h"

static void close_it(struct cores_wait *w)
{
    loop_io_destroy(take_ptr(w->io));
    cleanup_close(&w->fd);
}

static void begin(struct cores_wait *w)
{
    void (*then)(void *) = w->then;
    w->then = NULL;
    then(w->starters);
}

/* why_not NULL: there is a holder, which has gone again and again. */
static void do_not_wait(struct cores_wait *w, const char *why_not)
{
    close_it(w);
    log_warn("--wait-cores: the step does not wait for cores of the job's other steps: %s",
             why_not ? why_not : "the process that keeps the queue has gone");
    begin(w);
}

static int send_needs(const struct cores_wait *w)
{
    const struct step_plan *plan = w->starters->plan;
    struct holder_message m = {.what = HOLDER_NEED};
    int rc = 0;
    for (size_t i = 0; i < plan->nused && rc == 0; i++) {
        const struct host *h = w->starters->of[i].host;
        const struct alloc_host *a = &plan->alloc.hosts[h->index];
        uint32_t ranks = rank_set_count(&plan->placement.hosts[h->index]);
        size_t name = strlen(a->name) + 1;
        if (name + sizeof(a->slots.value) > sizeof(m.data))
            return error_set(NULL, ENAMETOOLONG, "%s", a->name);
        m.host = h->launch_index;
        m.value = (int32_t)binding_slots(&plan->cmd->place.bind, ranks);
        memcpy(m.data, a->name, name);
        memcpy(m.data + name, &a->slots.value, sizeof(a->slots.value));
        m.size = (uint32_t)(name + sizeof(a->slots.value));
        rc = holder_send(w->fd, &m, NULL);
    }
    m = (struct holder_message){.what = HOLDER_TURN, .size = 1};
    return rc == 0 ? holder_send(w->fd, &m, NULL) : rc;
}

static void say_waits(const struct cores_wait *w, const struct holder_message *m)
{
    const struct step_plan *plan = w->starters->plan;
    const char *name = m->host < plan->nused ? w->starters->of[m->host].host->name : NULL;
    if (name)
        log_note("waits for cores of host %s, where other steps of the job have all but %d slot%s "
                 "(--wait-cores)",
                 name, m->value, plural((size_t)m->value));
    else
        log_note("waits for steps of the job that have waited longer (--wait-cores)");
}

static void ask(struct cores_wait *w);

static void readable(void *arg, int fd, unsigned events)
{
    struct cores_wait *w = arg;
    struct holder_message m;
    int fds[HOLDER_FDS], rc = holder_receive(fd, &m, fds);
    for (int i = 0; i < HOLDER_FDS; i++)
        cleanup_close(&fds[i]);
    if (rc == 0) {
        close_it(w);
        if (w->then && w->again++ < HOLDER_AGAIN)
            ask(w);
        else if (w->then)
            do_not_wait(w, NULL);
    } else if (rc > 0 && w->then && m.what == HOLDER_WAIT) {
        say_waits(w, &m);
    } else if (rc > 0 && w->then && m.what == HOLDER_HAS) {
        begin(w);
    }
}

static void ask(struct cores_wait *w)
{
    struct error e = {0};
    w->fd = agents_reach_holder(&w->starters->agents, true, &e);
    w->io =
        w->fd < 0 ? NULL : loop_io_create(w->starters->step.loop, w->fd, LOOP_READ, readable, w);
    if (!w->io || send_needs(w) < 0)
        do_not_wait(w, w->fd < 0 ? e.text : NULL);
}

void cores_await(struct cores_wait *w, void (*then)(void *arg))
{
    w->then = then;
    if (w->starters->plan->cmd->start.wait_cores && !w->starters->plan->cmd->explain)
        ask(w);
    else
        begin(w);
}

bool cores_leave(struct cores_wait *w)
{
    bool waits = w->then && w->fd >= 0;
    w->then = NULL;
    close_it(w);
    return waits;
}
