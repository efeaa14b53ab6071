/* SPDX-License-Identifier: BSD-3-Clause */
/* control-requests.c - what tools, and other steps of the job, get over the control socket
 *
 * STATUS_REQUEST is answered by STATUS_REPLY; what another mprun sends is job-names.h's. */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "launcher/run.h"
#include "wire/messages/placements.h"

static const char *agent_state_text(enum agent_state s)
{
    static const char *const text[] = {
        [AGENT_UNUSED] = "unused",   [AGENT_WAITING] = "waiting",
        [AGENT_STARTED] = "started", [AGENT_CONNECTED] = "connected",
        [AGENT_PLACED] = "placed",   [AGENT_LAUNCHED] = "launched",
        [AGENT_READY] = "running",   [AGENT_REPORTED] = "reported",
        [AGENT_CLEANED] = "cleaned", [AGENT_RELEASED] = "released",
        [AGENT_GONE] = "gone",
    };
    return text[s];
}

static void send_status(struct run *r, struct link *to, const char *refused)
{
    Mprun__StatusReply m = MPRUN__STATUS_REPLY__INIT;
    AUTO_FREE struct placement *hosts = must(calloc(r->plan->nhosts + 1, sizeof(*hosts)));
    AUTO_FREE char **states = must(calloc(r->plan->nhosts + 1, sizeof(*states)));
    struct rank_counts n = r->record.counts;
    struct packed_placements packed;
    for (size_t i = 0; i < r->plan->nhosts; i++) {
        hosts[i] = (struct placement){.host = r->plan->alloc.hosts[i].name,
                                      .ranks = *r->hosts->all[i].ranks};
        states[i] = (char *)(uintptr_t)agent_state_text(r->hosts->all[i].state);
    }
    placements_pack(hosts, r->plan->nhosts, &packed);
    m.n_hosts = packed.n;
    m.hosts = packed.list;
    m.n_host_states = r->plan->nhosts;
    m.host_states = states;
    m.step_id = (char *)(uintptr_t)r->plan->step.id;
    m.state = (char *)(uintptr_t)step_state_text(r->state);
    m.nranks = r->record.nranks;
    m.started = n.started;
    m.ended = n.ended;
    m.seconds = loop_now() - r->plan->start_time;
    m.suspended = step_is_suspended(r);
    m.refused = (char *)(uintptr_t)(refused ? refused : "");
    link_send(to, FRAME_STATUS_REPLY, &m.base);
    packed_placements_free(&packed);
}

static bool take_status_request(struct run *r, struct link *tool, const uint8_t *p, size_t n)
{
    Mprun__StatusRequest *m = mprun__status_request__unpack(NULL, n, p);
    if (!m)
        return false;
    send_status(r, tool, m->suspend ? step_suspend(r) : m->resume ? step_resume(r) : NULL);
    mprun__status_request__free_unpacked(m, NULL);
    return true;
}

static bool request(void *arg, struct link *tool, enum frame_type type, const uint8_t *p, size_t n)
{
    struct run *r = arg;
    if (type == FRAME_STATUS_REQUEST)
        return take_status_request(r, tool, p, n);
    return job_names_frame(&r->job_names, tool, type, p, n);
}

static void gone(void *arg, struct link *tool)
{
    struct run *r = arg;
    job_names_tool_gone(&r->job_names, tool);
}

const struct control_events step_control_events = {.request = request, .gone = gone};
