/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - `mprund status`: asking the daemon about its jobs, and a table of them */
#include "node-daemon/command/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text-table.h"

/* ---- asking ---------------------------------------------------------------------------------- */

/* 0 at the last answer, 1 after a job, -1 with err */
static int take(int fd, struct status *s, struct error *err)
{
    struct grant_answer a;
    if (grant_receive(fd, GRANT_ANSWER_S, &a, err) < 0)
        return -1;
    if (a.result == GRANT_OK) {
        s->all = a;
        return 0;
    }
    if (a.result != GRANT_MORE)
        return error_set(err, EPERM, "mprund says: %s", a.text);
    s->job = must(reallocarray(s->job, s->n + 1, sizeof(*s->job)));
    s->job[s->n++] = a;
    return 1;
}

int status_ask(struct status *ret, struct error *err)
{
    struct grant_request q;
    int rc;
    *ret = (struct status){0};
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    AUTO_CLOSE int fd = grant_send(NULL, &q, err);
    if (fd < 0)
        return -1;
    while ((rc = take(fd, ret, err)) > 0)
        ;
    if (rc < 0)
        status_free(ret);
    return rc;
}

void status_free(struct status *s)
{
    free(s->job);
    *s = (struct status){0};
}

/* ---- the table ------------------------------------------------------------------------------- */

static void cell_size(struct text_table *t, uint64_t bytes)
{
    char buf[16];
    text_table_text(t, bytes == GRANT_UNLIMITED ? NULL
                       : bytes                  ? size_format(bytes, buf, sizeof(buf))
                                                : "0");
}

/* Say who chose the cores where they are not its own by mprund's choice. */
static void cell_cores(struct text_table *t, const struct grant_answer *a)
{
    if (a->cores_how == GRANT_CORES_ALL)
        text_table_text(t, NULL);
    else if (a->cores_lent)
        text_table_cell(t, "%s (%" PRIu32 " core%s lent)", a->cpus, a->cores_lent,
                        plural(a->cores_lent));
    else if (a->cores_beyond)
        text_table_cell(t, "%s (%" PRIu32 " core%s beyond its %" PRIu32 ")", a->cpus,
                        a->cores_beyond, plural(a->cores_beyond), a->cores);
    else if (a->cores_how == GRANT_CORES_CHOSEN)
        text_table_cell(t, "%s", a->cpus);
    else
        text_table_cell(t, "%s (%s)", a->cpus, status_cores(a->cores_how));
}

static void add_row(struct text_table *t, const struct grant_answer *a)
{
    char cpu[32];
    text_table_cell(t, "%s", a->job);
    text_table_cell(t, "%s", status_manager(a->manager));
    text_table_number(t, a->uid, 0);
    text_table_text(t, status_user(a));
    text_table_cell(t, "%s", status_state(a->state));
    text_table_number(t, a->processes, GRANT_UNLIMITED);
    text_table_cell(t, "%s", duration_format((double)a->cpu_us / 1e6, cpu, sizeof(cpu)));
    cell_size(t, a->memory_now);
    cell_size(t, a->memory);
    text_table_number(t, a->pids, GRANT_UNLIMITED);
    cell_cores(t, a);
    if (a->gpus_lent)
        text_table_cell(t, "%s (%" PRIu32 " lent)", a->gpus[0] ? a->gpus : "-", a->gpus_lent);
    else
        text_table_text(t, a->gpus);
    text_table_text(t, a->text);
}

static void write_table(const struct status *s)
{
    static const char *const headings[] = {"job",
                                           "manager",
                                           ">uid",
                                           "user",
                                           ">state",
                                           ">processes",
                                           ">CPU",
                                           ">memory",
                                           ">memory limit",
                                           ">limit of processes",
                                           "hardware threads",
                                           "GPUs",
                                           "reason",
                                           NULL};
    struct text_table *t = text_table_create(headings);
    for (size_t i = 0; i < s->n; i++)
        add_row(t, &s->job[i]);
    text_table_drop_unknown(t);
    AUTO_FREE char *text = text_table_format(t, "");
    text_table_destroy(t);
    fputs(text, stdout);
    if (s->all.cores_total != GRANT_UNKNOWN && s->all.cores_free != GRANT_UNKNOWN)
        printf("%" PRIu32 " of %" PRIu32 " cores are no job's\n", s->all.cores_free,
               s->all.cores_total);
}

int status_print(int as_json, struct error *err)
{
    AUTO(status_free) struct status s = {0};
    int stuck = 0;
    if (status_ask(&s, err) < 0)
        return -1;
    int rc = 0;
    if (as_json)
        rc = status_write_json(&s, err);
    else
        write_table(&s);
    for (size_t i = 0; i < s.n; i++)
        stuck |= s.job[i].state == GRANT_STUCK;
    return rc < 0 ? -1 : stuck;
}

int status_print_numbers(struct error *err)
{
    AUTO(status_free) struct status s = {0};
    if (status_ask(&s, err) < 0)
        return -1;
    printf("mprund_stuck:%" PRIu32 "\n", s.all.stuck);
    if (s.all.cores_free != GRANT_UNKNOWN)
        printf("free_cores:%" PRIu32 "\n", s.all.cores_free);
    return 0;
}
