/* SPDX-License-Identifier: BSD-3-Clause */
/* pbs.c - a task that mprun had pbs_mom start: its start parameters come from there */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "rm-adapters/pbs/pbs-private.h"
#include "rm-adapters/pbs/tm-link.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "rm-adapters/tunables.h"

/* TM_START_VARIABLE */
struct where {
    unsigned host, node, task, is_framed;
    char name[64];
};

static int read_where(struct where *ret)
{
    const char *text = getenv(TM_START_VARIABLE);
    return text && sscanf(text, "%u %u %u %u %63s", &ret->host, &ret->node, &ret->task,
                          &ret->is_framed, ret->name) == 5
               ? 0
               : -1;
}

static int pbs_task_number(unsigned *ret)
{
    struct where w;
    if (read_where(&w) < 0)
        return -1;
    *ret = w.host;
    return 0;
}

/* A pipe has room for them. */
static int make_pipe(const uint8_t *data, size_t n, struct error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, errno, "keep the start parameters");
    int rc = fd_write_all(ends[1], data, n);
    close(ends[1]);
    if (rc == 0)
        return ends[0];
    close(ends[0]);
    return error_errno(err, EIO, "keep the start parameters");
}

/* Those of a task of Torque's. No process that comes later finds them in our environment. */
static int open_given(char *text, int *ret_fd, struct error *err)
{
    uint8_t preamble[START_PREAMBLE_MAX];
    size_t n = 0;
    for (const char *p = text;
         n < sizeof(preamble) && p[0] && p[1] && sscanf(p, "%2hhx", &preamble[n]) == 1; p += 2)
        n++;
    explicit_bzero(text, strlen(text));
    *ret_fd = make_pipe(preamble, n, err);
    explicit_bzero(preamble, sizeof(preamble));
    return *ret_fd < 0 ? -1 : 1;
}

static int pbs_open_start(int *ret_fd, struct error *err)
{
    char *given = getenv(TM_PREAMBLE_VARIABLE);
    AUTO(buffer_free) struct buffer request = {.data = NULL}, messages = {.data = NULL};
    struct tm_answer a;
    struct tm_job job;
    struct where w;
    if (read_where(&w) < 0)
        return 0;
    if (given)
        return open_given(given, ret_fd, err);
    int rc = tm_job_read(&job, err);
    job.is_framed = w.is_framed != 0;
    if (rc == 0)
        rc = tm_request_get(&request, &job, tm_event(0, TM_GETINFO), w.node, w.task, w.name, err);
    if (rc == 0)
        rc = tm_ask(&job, &request, TM_ANSWER_SECONDS, &messages, &a, err);
    if (rc == 0 && (a.error || a.n > START_PREAMBLE_MAX))
        rc = error_set(err, EPROTO, "pbs_mom has no start parameters: error %d, %s", a.error,
                       tm_error_text(a.error));
    if (rc == 0)
        rc = *ret_fd = make_pipe(a.data, a.n, err);
    if (messages.data)
        explicit_bzero(messages.data, messages.cap);
    return rc < 0 ? error_context(err, "ask pbs_mom for the start parameters") : 1;
}

/* PBS counts, limits and ends processes by their sessions; Torque's pbs_mom attaches none. */
static bool pbs_counts_sessions(void)
{
    struct tm_job job;
    struct where w;
    return read_where(&w) == 0 && tm_job_read(&job, NULL) == 0 && !job.is_torque;
}

static int pbs_attach_session(pid_t pid, struct error *err)
{
    AUTO(buffer_free) struct buffer request = {.data = NULL}, messages = {.data = NULL};
    struct tm_answer a = {.error = 0};
    struct tm_job job;
    struct where w;
    if (read_where(&w) < 0 || tm_job_read(&job, err) < 0)
        return 0;
    job.is_framed = w.is_framed != 0;
    int rc =
        tm_request_attach(&request, &job, tm_event(0, TM_ATTACH), getuid(), (uint32_t)pid, err);
    if (rc == 0)
        rc = tm_ask(&job, &request, TM_ATTACH_SECONDS, &messages, &a, err);
    if (rc == 0 && a.error && a.error != TM_ATTACHED_ALREADY && a.error != TM_NO_PROCESS)
        rc = error_set(err, EPROTO, "error %d, %s", a.error, tm_error_text(a.error));
    return rc < 0 ? error_context(err, "have pbs_mom count the session of process %d", (int)pid)
                  : 0;
}

const struct rm_starter_side rm_starter_side_pbs = {
    .name = "pbs",
    .counts_sessions = pbs_counts_sessions,
    .attach_session = pbs_attach_session,
    .task_number = pbs_task_number,
    .open_start = pbs_open_start,
};
