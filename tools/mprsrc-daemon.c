/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-daemon.c - which GPUs a job has here, where its manager only counts them: mprund of this
 * host chose them, and tells root and the job's user */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mprsrc.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "containment/mprund-protocol.h"

enum { ANSWER_MS = 1000 };

/* The answer about the job of that name, or -1. */
static int find_job(int fd, const char *name, struct grant_answer *ret, struct error *err)
{
    while (grant_receive(fd, ANSWER_MS, ret, err) == 0)
        if (ret->result != GRANT_MORE)
            return error_set(err, 0, "mprund knows of no job %s of yours", name);
        else if (!strcmp(ret->job, name))
            return 0;
    return -1;
}

void mprsrc_ask_daemon(const struct gridengine_job *job, struct resource_devices *gpus)
{
    char name[GRANT_JOB_MAX];
    struct grant_request q;
    struct grant_answer a;
    struct error e;
    if (gpus->ids || !gpus->count.set || gpus->count.value == 0)
        return;
    snprintf(name, sizeof(name), "%u.%u", job->id, job->task ? job->task : 1);
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    AUTO_CLOSE int fd = grant_send(NULL, &q, &e);
    if (fd < 0 || find_job(fd, name, &a, &e) < 0) {
        log_debug("which GPUs of this host are the job's: %s", e.text);
        return;
    }
    for (char *c = a.gpus; *c; c++)
        if (*c == ',')
            *c = ' ';
    gpus->ids = a.gpus[0] ? strdup(a.gpus) : NULL;
}
