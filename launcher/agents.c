/* SPDX-License-Identifier: BSD-3-Clause */
/* agents.c - the states of hosts' starters: counted, because they are asked for with every message,
 * and when each was reached, for the report of the start */
#include <sys/resource.h>

#include "launcher/run.h"

double run_seconds(const struct run *r)
{
    return loop_now() - r->start_time;
}

void agent_reached(struct host *h, enum launch_phase phase)
{
    if (h->report.reached[phase] == 0)
        h->report.reached[phase] = (float)run_seconds(h->run);
}

static void note_phase(struct host *h)
{
    struct run *r = h->run;
    switch (h->state) {
    case AGENT_STARTED:
        agent_reached(h, LAUNCH_BEGUN);
        if (r->agents[AGENT_STARTED] > r->launch.starts_at_once)
            r->launch.starts_at_once = r->agents[AGENT_STARTED];
        break;
    case AGENT_CONNECTED:
        agent_reached(h, LAUNCH_REPORTED);
        break;
    case AGENT_PLACED:
        agent_reached(h, LAUNCH_PLACED);
        break;
    case AGENT_READY:
        agent_reached(h, LAUNCH_READY);
        break;
    default:
        break;
    }
}

void agent_enter(struct host *h, enum agent_state state)
{
    h->run->agents[h->state]--;
    h->run->agents[state]++;
    h->state = state;
    note_phase(h);
}

size_t agents_before(const struct run *r, enum agent_state state)
{
    size_t n = 0;
    for (int s = AGENT_WAITING; s < (int)state; s++)
        n += r->agents[s];
    return n;
}

static double cpu_seconds(void)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) < 0)
        return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void launch_is_over(struct run *r)
{
    struct report_launch *l = &r->launch;
    l->running = run_seconds(r);
    l->messages = r->nframes;
    l->cpu = cpu_seconds();
    for (size_t i = 0; i < r->nused; i++)
        l->links += r->launched[i]->link != NULL;
}
