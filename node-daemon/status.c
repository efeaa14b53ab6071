/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - `mprund status`: asking the daemon about its jobs, and a table of them */
#include "node-daemon/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "common/text-table.h"
#include "containment/grant.h"

enum { ANSWER_MS = 5000 };

static const char *const managers[] = {
    [GRANT_ANY] = "?", [GRANT_SITE] = "site", [GRANT_GRIDENGINE] = "gridengine"};
static const char *const states[] = {
    [GRANT_RUNNING] = "running", [GRANT_ENDING] = "ending", [GRANT_STUCK] = "stuck"};

static const char *word(const char *const *words, size_t n, uint32_t i)
{
    return i < n && words[i] ? words[i] : "?";
}

static void cell_size(struct text_table *t, uint64_t bytes)
{
    char buf[16];
    if (bytes == GRANT_UNLIMITED)
        text_table_unknown(t);
    else
        text_table_cell(t, "%s", bytes ? size_format(bytes, buf, sizeof(buf)) : "0");
}

static void add_row(struct text_table *t, const struct grant_answer *a)
{
    char cpu[32];
    text_table_cell(t, "%s", a->job);
    text_table_cell(t, "%s", word(managers, sizeof(managers) / sizeof(managers[0]), a->manager));
    text_table_cell(t, "%" PRIu32, a->uid);
    text_table_cell(t, "%s", word(states, sizeof(states) / sizeof(states[0]), a->state));
    text_table_cell(t, "%" PRIu64, a->processes);
    text_table_cell(t, "%s", duration_format((double)a->cpu_us / 1e6, cpu, sizeof(cpu)));
    cell_size(t, a->memory_now);
    cell_size(t, a->memory);
    if (a->pids == GRANT_UNLIMITED)
        text_table_unknown(t);
    else
        text_table_cell(t, "%" PRIu64, a->pids);
    if (a->text[0])
        text_table_cell(t, "%s", a->text);
    else
        text_table_unknown(t);
}

/* 0 at the last answer, 1 after a job, -1 with err */
static int take(int fd, struct text_table *t, int *ret_stuck, struct error *err)
{
    struct grant_answer a;
    if (grant_receive(fd, ANSWER_MS, &a, err) < 0)
        return -1;
    if (a.result != GRANT_MORE)
        return a.result == GRANT_OK ? 0 : error_set(err, EPERM, "mprund says: %s", a.text);
    add_row(t, &a);
    *ret_stuck |= a.state == GRANT_STUCK;
    return 1;
}

int status_print(struct error *err)
{
    static const char *const headings[] = {"job",
                                           "manager",
                                           ">user",
                                           ">state",
                                           ">processes",
                                           ">CPU",
                                           ">memory",
                                           ">memory limit",
                                           ">limit of processes",
                                           "reason",
                                           NULL};
    struct grant_request q;
    int rc, stuck = 0;
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    AUTO_CLOSE int fd = grant_send(NULL, &q, err);
    struct text_table *t = fd < 0 ? NULL : text_table_create(headings);
    if (!t)
        return fd < 0 ? -1 : error_errno(err, ENOMEM, "show the jobs");
    while ((rc = take(fd, t, &stuck, err)) > 0)
        ;
    text_table_drop_unknown(t);
    AUTO_FREE char *text = rc == 0 ? text_table_format(t, "") : NULL;
    text_table_destroy(t);
    if (rc < 0)
        return -1;
    fputs(text ? text : "", stdout);
    return stuck;
}
