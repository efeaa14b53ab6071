/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-qstat - what a job of Grid Engine asks for, as one small record
 *
 *     mprund-qstat QSTAT JOB.TASK SECONDS MEMORY-COMPLEX VIRTUAL-COMPLEX GPU-COMPLEX
 *
 * Started by mprund as an unprivileged user (inquiry.h, which has the record). It runs `QSTAT -xml
 * -j JOB`, understands the answer as mprsrc does, and writes the record to its standard output. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/text/number.h"
#include "node-daemon/lib/syscalls.h"
#include "node-daemon/reader/inquiry.h"
#include "rm-adapters/processes/ask-manager.h"
#include "rm-adapters/gridengine/qstat-xml.h"

struct question {
    const char *qstat;
    char job[24];
    uint32_t task;
    int64_t seconds;
    struct resource_names names;
};

static int parse_words(int argc, char **argv, struct question *ret, struct error *err)
{
    int64_t job, task;
    char *dot = argc == 7 ? strchr(argv[2], '.') : NULL;
    if (!dot)
        return error_set(err, EINVAL, "wrong use: mprund starts this");
    *dot = 0;
    if (number_parse(argv[2], "job", 1, UINT32_MAX, &job, err) < 0 ||
        number_parse(dot + 1, "task", 0, UINT32_MAX, &task, err) < 0 ||
        number_parse(argv[3], "seconds", 1, 3600, &ret->seconds, err) < 0)
        return -1;
    snprintf(ret->job, sizeof(ret->job), "%lld", (long long)job);
    ret->qstat = argv[1];
    ret->task = (uint32_t)task;
    ret->names = resource_names_default;
    ret->names.memory = argv[4];
    ret->names.virtual_memory = argv[5];
    ret->names.gpu = argv[6];
    return 0;
}

static int understand(const struct question *q, const struct ask_answer *a, struct demand *ret,
                      struct error *err)
{
    AUTO(gridengine_job_free) struct gridengine_job job = {.id = 0};
    if (buffer_len(&a->said) == 0)
        return error_set(err, EIO, "it printed nothing, but: %.*s", (int)buffer_len(&a->errors),
                         buffer_len(&a->errors) ? (const char *)buffer_ptr(&a->errors) : "");
    if (gridengine_job_parse((const char *)buffer_ptr(&a->said), buffer_len(&a->said), q->task,
                             &job, err) < 0)
        return -1;
    return demand_of_job(&job, &q->names, ret, err);
}

static int ask_about(const struct question *q, struct demand *ret, struct error *err)
{
    char *words[] = {(char *)"qstat", (char *)"-xml", (char *)"-j", (char *)q->job, NULL};
    struct ask a = {.path = q->qstat,
                    .argv = words,
                    .seconds = (double)q->seconds,
                    .max = GRIDENGINE_XML_MAX,
                    .same_group = 1}; /* so that mprund can end it with this one */
    AUTO(ask_answer_free) struct ask_answer answer = {.status = 0};
    if (ask_run(&a, &answer, err) < 0)
        return error_context(err, "run '%s -xml -j %s'", q->qstat, q->job);
    if (syscalls_keep_to_self(NULL) < 0) /* what users write is read now */
        log_debug("qstat's answer is read without a filter of system calls");
    return understand(q, &answer, ret, err) < 0
               ? error_context(err, "read '%s -xml -j %s'", q->qstat, q->job)
               : 0;
}

/* A line without control characters: it goes to a log. */
static void put_text(struct inquiry_record *r, const char *text)
{
    snprintf(r->text, sizeof(r->text), "%s", text);
    for (char *c = r->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
}

int main(int argc, char **argv)
{
    struct inquiry_record r = {.magic = INQUIRY_MAGIC};
    struct question q;
    struct demand d = {.n = 0};
    struct error e;
    fd_open_standard();
    (void)setpriority(PRIO_PROCESS, 0, 0); /* nobody is kept waiting for it */
    if (parse_words(argc, argv, &q, &e) < 0 || ask_about(&q, &d, &e) < 0) {
        r.failed = e.code == ESRCH ? INQUIRY_NO_SUCH_JOB : INQUIRY_FAILED;
        put_text(&r, e.text);
    } else {
        demand_put(&d, r.demand);
    }
    return fd_write_all(STDOUT_FILENO, &r, sizeof(r)) < 0;
}
