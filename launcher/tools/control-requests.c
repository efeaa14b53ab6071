/* SPDX-License-Identifier: BSD-3-Clause */
/* control-requests.c - what tools, and other steps of the job, get over the control socket
 *
 * STATUS_REQUEST is answered by STATUS_REPLY, unless the tool does not read its answers; what
 * another mprun sends is job-names.h's. */
#include "launcher/run.h"

enum { UNREAD_MAX = 1024 * 1024 }; /* another step's ranks may have more under way */

static void send_status(struct run *r, struct link *to, const char *refused)
{
    Mprun__StatusReply m = MPRUN__STATUS_REPLY__INIT;
    m.hosts = (uint32_t)r->plan->nhosts;
    m.step_id = (char *)(uintptr_t)r->plan->step.id;
    m.state = (char *)(uintptr_t)step_state_text(r->state);
    m.nranks = r->record.nranks;
    m.started = r->record.counts.started;
    m.ended = r->record.counts.ended;
    m.seconds = loop_now() - r->plan->start_time;
    m.suspended = step_is_suspended(r);
    m.refused = (char *)(uintptr_t)(refused ? refused : "");
    link_send(to, FRAME_STATUS_REPLY, &m.base);
}

static bool take_status_request(struct run *r, struct link *tool, const uint8_t *p, size_t n)
{
    Mprun__StatusRequest *m =
        link_pending(tool) <= UNREAD_MAX ? mprun__status_request__unpack(NULL, n, p) : NULL;
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
