/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-tasks.c - a job's lines in job_info, added up by host
 *
 *   job_info/queue_info/job_list/                     or job_info/queue_info/Queue-List/job_list/
 *     JB_job_number tasks master queue_name granted_pe     and Queue-List/name, with -f
 *
 * A parallel job has a MASTER line, and a SLAVE line for each slot. Whether the master task takes
 * one of the slots depends on the parallel environment (job_is_first_task), which the document does
 * not say. It has the sum, granted_pe: the master's host has what the other hosts do not have. */
#include "rm-adapters/gridengine/qstat-job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/text/number.h"
#include "rm-adapters/gridengine/qstat-xml.h"

struct tasks {
    uint32_t id, task;
    char queue[256]; /* name of the Queue-List that is being read */
    struct {         /* the job_list that is being read */
        int64_t id, task, granted;
        int is_master;
        char queue[256];
    } line;
    char master[256]; /* queue instance of the MASTER line */
    int64_t granted;
    struct hostlist slaves; /* without the master's host */
};

static const char *host_of(const char *queue)
{
    const char *at = strrchr(queue, '@');
    return at ? at + 1 : queue;
}

static void line_begins(void *arg, const struct xml_place *p)
{
    struct tasks *t = arg;
    if (xml_is(p, 0, "Queue-List"))
        t->queue[0] = 0;
    if (!xml_is(p, 0, "job_list"))
        return;
    memset(&t->line, 0, sizeof(t->line));
    t->line.task = 1; /* there is no such element where a job has no tasks */
    memcpy(t->line.queue, t->queue, sizeof(t->queue));
}

/* -1 for a text that is no number: no job and no task has it. */
static int64_t number_of(const char *text)
{
    int64_t number;
    return number_parse(text, NULL, 0, UINT32_MAX, &number, NULL) == 0 ? number : -1;
}

static void line_leaf(struct tasks *t, const struct xml_place *p, const char *text)
{
    if (xml_is(p, 0, "JB_job_number"))
        t->line.id = number_of(text);
    else if (xml_is(p, 0, "tasks"))
        t->line.task = number_of(text);
    else if (xml_is(p, 0, "granted_pe"))
        t->line.granted = number_of(text);
    else if (xml_is(p, 0, "master"))
        t->line.is_master = strcmp(text, "MASTER") == 0;
    else if (xml_is(p, 0, "queue_name"))
        snprintf(t->line.queue, sizeof(t->line.queue), "%s", text);
}

static int add(struct hostlist *to, const char *name, int64_t slots, struct error *err)
{
    return hostlist_add_slots(to, name, (uint32_t)slots, "qstat -g t", err);
}

static int line_ends(struct tasks *t, struct error *err)
{
    if (t->line.id != t->id || t->line.task != t->task || !t->line.queue[0])
        return 0;
    t->granted = t->line.granted > 0 ? t->line.granted : 1;
    if (!t->line.is_master)
        return add(&t->slaves, host_of(t->line.queue), 1, err);
    memcpy(t->master, t->line.queue, sizeof(t->master));
    return 0;
}

static int ends(void *arg, const struct xml_place *p, const char *text, struct error *err)
{
    struct tasks *t = arg;
    if (strcmp(p->names[0], "job_info") != 0)
        return error_set(err, EBADMSG, "it is not the <job_info> of qstat -xml");
    if (xml_is(p, 1, "Queue-List") && xml_is(p, 0, "name"))
        snprintf(t->queue, sizeof(t->queue), "%s", text);
    if (xml_is(p, 1, "job_list"))
        line_leaf(t, p, text);
    return xml_is(p, 0, "job_list") ? line_ends(t, err) : 0;
}

/* The master's host, then the others. */
static int put_together(const struct tasks *t, struct hostlist *to, struct error *err)
{
    const struct allocation *a = &t->slaves.allocation;
    const char *master = host_of(t->master);
    int64_t rest = t->granted;
    for (size_t i = 0; i < a->nhosts; i++)
        rest -= strcmp(a->hosts[i].name, master) == 0 ? 0 : a->hosts[i].slots.value;
    if (rest < 1 || rest > HOSTLIST_SLOTS_MAX)
        return error_set(err, EBADMSG, "job %u has %lld slots, but its tasks are on more", t->id,
                         (long long)t->granted);
    if (add(to, master, rest, err) < 0)
        return -1;
    for (size_t i = 0; i < a->nhosts; i++)
        if (strcmp(a->hosts[i].name, master) != 0 &&
            add(to, a->hosts[i].name, a->hosts[i].slots.value, err) < 0)
            return -1;
    return 0;
}

int gridengine_tasks_parse(const char *bytes, size_t n, uint32_t id, uint32_t task,
                           struct hostlist *ret, struct error *err)
{
    static const struct xml_events events = {.begin = line_begins, .end = ends};
    struct tasks t = {.id = id, .task = task};
    struct hostlist hosts = {.known = NULL};
    int failed = gridengine_xml_walk(bytes, n, &events, &t, err) < 0 ||
                 (t.master[0] && put_together(&t, &hosts, err) < 0);
    hostlist_free(&t.slaves);
    if (failed) {
        hostlist_free(&hosts);
        return -1;
    }
    *ret = hosts;
    return 0;
}
