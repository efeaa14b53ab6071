/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/start/wait-cores.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "launcher/start/starter-private.h"
#include "launcher/step/signal-mask.h"
#include "launcher/step/step-fit.h"
#include "launcher/step/step-placement.h"
#include "launcher/tunables.h"
#include "wire/start-channel/holder-socket.h"

static int tell(const struct cores_turn *t, enum holder_what what)
{
    return holder_send(t->fd, &(struct holder_message){.what = what, .size = 1}, NULL);
}

static int take_slots(const struct cores_turn *t, const struct step_plan *p)
{
    struct holder_message m = {.what = HOLDER_NEED};
    for (size_t i = 0; i < p->nhosts; i++) {
        const char *name = p->alloc.hosts[i].name;
        m.value = (int32_t)step_placement_slots(p, i);
        m.size = (uint32_t)strlen(name) + 1;
        if (m.size > sizeof(m.data))
            return error_set(NULL, ENAMETOOLONG, "%s", name);
        memcpy(m.data, name, m.size);
        if (m.value > 0 && holder_send(t->fd, &m, NULL) < 0)
            return -1;
    }
    return tell(t, HOLDER_TAKE);
}

static void add_taken(const struct step_plan *p, const struct holder_message *m, uint64_t *taken)
{
    struct holder_taken all[HOLDER_TAKEN_MAX];
    size_t n = m->size < sizeof(all) ? m->size / sizeof(all[0]) : HOLDER_TAKEN_MAX;
    memcpy(all, m->data, n * sizeof(all[0]));
    for (size_t i = 0; n > 0 && i < p->alloc.nhosts + p->nspare; i++) {
        uint64_t host = holder_host_hash(p->alloc.hosts[i].name);
        for (size_t k = 0; k < n; k++)
            taken[i] += all[k].host == host ? all[k].slots : 0;
    }
}

static void say_waits(const struct step_plan *p, const uint64_t *taken)
{
    const struct alloc_host *h = p->alloc.hosts;
    size_t nhosts = p->alloc.nhosts + p->nspare;
    uint64_t left = 0;
    for (size_t i = 0; i < nhosts; i++)
        left += taken[i] < h[i].slots.value ? h[i].slots.value - taken[i] : 0;
    AUTO_FREE char *where =
        nhosts == 1 ? text_format("host %s", h->name) : text_format("%zu hosts", nhosts);
    log_note("waits for cores of %s, where other steps of the job have all but %" PRIu64
             " slot%s (--wait-cores)",
             where, left, plural(left));
}

enum progress { HOLDER_HAS_GONE, WAITS, HAS_SLOTS };

/* Takes one message. *has_said: mprun has said what the step waits for, and says it once. */
static enum progress take_message(const struct cores_turn *t, struct step_plan *p, uint64_t *taken,
                                  bool *has_said)
{
    struct holder_message m;
    int rc = holder_receive(t->fd, &m, NULL);
    if (rc <= 0)
        return rc < 0 ? WAITS : HOLDER_HAS_GONE;
    bool is_turn = m.what == HOLDER_TAKEN && m.value == 0;
    if (m.what == HOLDER_TAKEN)
        add_taken(p, &m, taken);
    if (is_turn && step_fit(p, taken))
        return take_slots(t, p) == 0 ? HAS_SLOTS : HOLDER_HAS_GONE;
    if (is_turn) {
        if (!*has_said)
            say_waits(p, taken);
        memset(taken, 0, (p->alloc.nhosts + p->nspare) * sizeof(*taken));
        tell(t, HOLDER_TURN);
    } else if (m.what == HOLDER_WAIT && !*has_said) {
        log_note("waits for steps of the job that have waited longer (--wait-cores)");
    }
    *has_said |= is_turn || m.what == HOLDER_WAIT;
    return WAITS;
}

/* Returns whether the step has its slots; false: the holder has gone. */
static bool wait_for_turn(const struct cores_turn *t, struct step_plan *p, bool *has_said)
{
    AUTO_FREE uint64_t *taken = must(calloc(p->alloc.nhosts + p->nspare + 1, sizeof(*taken)));
    struct pollfd from_holder = {.fd = t->fd, .events = POLLIN};
    enum progress so_far = tell(t, HOLDER_TURN) == 0 ? WAITS : HOLDER_HAS_GONE;
    while (so_far == WAITS)
        if (poll(&from_holder, 1, -1) > 0)
            so_far = take_message(t, p, taken, has_said);
    return so_far == HAS_SLOTS;
}

/* The queue of a job is on its script's host, mostly the first one, and mpruns on others find it by
 * the agents there. */
static void say_if_alone(const struct step_plan *p)
{
    const struct alloc_host *h = p->alloc.hosts;
    size_t here = 0;
    struct error e;
    AUTO_CLOSE int fd = agents_find_holder(p, &e);
    while (here < p->alloc.nhosts && !h[here].here)
        here++;
    if (fd < 0 && p->alloc.job_id[0] && here > 0 && here < p->alloc.nhosts)
        log_warn("--wait-cores: cores that steps of other hosts' mpruns have are not waited for, "
                 "as the job has no agent on host %s (--keep=step there, or for the mprun that has "
                 "started this one)",
                 h[here].name);
}

/* A holder that goes again and again is not waited for. */
static void wait_for_slots(struct cores_turn *t, struct step_plan *p)
{
    struct error e;
    const char *why = "the process that keeps the queue has gone";
    bool has_said = false;
    pid_t holder;
    say_if_alone(p);
    for (int i = 0; i <= HOLDER_AGAIN; i++) {
        if (has_said) /* it was killed: first, steps that have slots tell the next one */
            nanosleep(&(struct timespec){.tv_nsec = HOLDER_RETAKE_NS}, NULL);
        t->fd = agents_reach_holder(p, true, &holder, &e);
        if (t->fd < 0) {
            why = e.text;
            break;
        }
        if (wait_for_turn(t, p, &has_said))
            return;
        cleanup_close(&t->fd);
    }
    log_warn("--wait-cores: the step does not wait for cores of the job's other steps: %s", why);
}

void cores_await(struct cores_turn *t, struct step_plan *p)
{
    *t = (struct cores_turn){.fd = -1};
    if (!p->waits)
        return;
    signal_mask_open();
    wait_for_slots(t, p);
    signal_mask_close();
}

/* Nothing more comes from the holder but its end. */
static void readable(void *arg, int fd, unsigned events)
{
    struct starters *s = arg;
    struct cores_turn *t = s->step.cores;
    struct holder_message m;
    struct error e;
    pid_t holder = 0;
    if (holder_receive(fd, &m, NULL) != 0)
        return;
    cores_leave(t);
    t->fd = agents_reach_holder(s->plan, true, &holder, &e);
    sweep_spare(s, holder);
    if (t->fd >= 0 && take_slots(t, s->plan) == 0)
        cores_keep(t, s);
    else
        log_debug("other steps of the job do not know of this one's slots any more");
}

void cores_keep(struct cores_turn *t, struct starters *s)
{
    if (t->fd >= 0)
        t->io = loop_io_create(s->step.loop, t->fd, LOOP_READ, readable, s);
}

void cores_leave(struct cores_turn *t)
{
    loop_io_destroy(take_ptr(t->io));
    cleanup_close(&t->fd);
}
