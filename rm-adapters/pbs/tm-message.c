/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/pbs/tm-message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/number.h"
#include "rm-adapters/pbs/dis.h"

enum { PROTOCOL_PBS = 2, PROTOCOL_TORQUE = 5, VERSION = 2, CODE_ERROR = 999, HEADER = 11 };
static const uint8_t magic[6] = "PKTV1";
static const int commands[TM_KINDS] = {
    [TM_INIT] = 100,     [TM_SPAWN] = 102,   [TM_OBIT] = 104,  [TM_SIGNAL] = 103,
    [TM_POSTINFO] = 106, [TM_GETINFO] = 107, [TM_ATTACH] = 113};

/* ---- the job --------------------------------------------------------------------------------- */

static int variable(const char *name, const char **ret, struct error *err)
{
    *ret = getenv(name);
    return *ret && **ret
               ? 0
               : error_set(err, ENOENT, "%s is not set as in a job of PBS or Torque", name);
}

/* Torque writes the number of a task in decimal digits, OpenPBS in hexadecimal ones. */
int tm_job_read(struct tm_job *ret, struct error *err)
{
    const char *version = getenv("PBS_VERSION"), *task, *port;
    char *end;
    int64_t number;
    *ret = (struct tm_job){.is_torque = (version && strncmp(version, "TORQUE", 6) == 0) ||
                                        getenv("PBS_NUM_PPN")};
    ret->is_framed = !ret->is_torque;
    if (variable("PBS_JOBID", &ret->id, err) < 0 ||
        variable("PBS_JOBCOOKIE", &ret->cookie, err) < 0 ||
        variable("PBS_TASKNUM", &task, err) < 0 || variable("PBS_MOMPORT", &port, err) < 0 ||
        number_parse(port, "PBS_MOMPORT", 1, 65535, &number, err) < 0)
        return -1;
    ret->port = (uint32_t)number;
    unsigned long n = strtoul(task, &end, ret->is_torque ? 10 : 16);
    if (*end || n == 0 || n > UINT32_MAX || strspn(task, "0123456789abcdefABCDEF") != strlen(task))
        return error_set(err, EINVAL, "PBS_TASKNUM is '%.20s', which is no number of a task", task);
    ret->task = (uint32_t)n;
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

void tm_request_begin(struct buffer *to, const struct tm_job *job, uint32_t event)
{
    static const uint8_t header[HEADER];
    if (job->is_framed)
        buffer_append(to, header, HEADER);
    dis_put_number(to, job->is_torque ? PROTOCOL_TORQUE : PROTOCOL_PBS);
    dis_put_number(to, VERSION);
    dis_put_string(to, job->id);
    dis_put_string(to, job->cookie);
    dis_put_number(to, commands[tm_event_kind(event)]);
    dis_put_number(to, event);
    dis_put_number(to, job->task);
}

int tm_request_finish(struct buffer *to, const struct tm_job *job, struct error *err)
{
    size_t n = buffer_len(to);
    uint8_t *p = buffer_ptr(to);
    if (n > TM_REQUEST_MAX)
        return error_set(err, E2BIG, "a request to pbs_mom has %zu bytes, more than %d", n,
                         TM_REQUEST_MAX);
    if (!job->is_framed)
        return 0;
    n -= HEADER;
    memcpy(p, magic, sizeof(magic));
    for (int i = 0; i < 4; i++)
        p[7 + i] = (uint8_t)(n >> (24 - 8 * i));
    return 0;
}

int tm_request_spawn(struct buffer *to, const struct tm_job *job, uint32_t event, uint32_t node,
                     const char *path, const char *const *environment, struct error *err)
{
    tm_request_begin(to, job, event);
    dis_put_number(to, node);
    dis_put_number(to, 1);
    dis_put_string(to, path);
    for (size_t i = 0; environment[i]; i++)
        dis_put_string(to, environment[i]);
    dis_put_string(to, "");
    return tm_request_finish(to, job, err);
}

int tm_request_task(struct buffer *to, const struct tm_job *job, uint32_t event, uint32_t node,
                    uint32_t task, int signo, struct error *err)
{
    tm_request_begin(to, job, event);
    dis_put_number(to, node);
    dis_put_number(to, task);
    if (tm_event_kind(event) == TM_SIGNAL)
        dis_put_number(to, signo);
    return tm_request_finish(to, job, err);
}

int tm_request_post(struct buffer *to, const struct tm_job *job, uint32_t event, const char *name,
                    const void *data, size_t n, struct error *err)
{
    tm_request_begin(to, job, event);
    dis_put_string(to, name);
    dis_put_bytes(to, data, n);
    return tm_request_finish(to, job, err);
}

int tm_request_get(struct buffer *to, const struct tm_job *job, uint32_t event, uint32_t node,
                   uint32_t task, const char *name, struct error *err)
{
    tm_request_begin(to, job, event);
    dis_put_number(to, node);
    dis_put_number(to, task);
    dis_put_string(to, name);
    return tm_request_finish(to, job, err);
}

int tm_request_attach(struct buffer *to, const struct tm_job *job, uint32_t event, uint32_t uid,
                      uint32_t pid, struct error *err)
{
    struct tm_job nobody = *job;
    nobody.cookie = "";
    nobody.task = 0;
    tm_request_begin(to, &nobody, event);
    dis_put_number(to, uid);
    dis_put_number(to, pid);
    return tm_request_finish(to, job, err);
}

/* ---- answers --------------------------------------------------------------------------------- */

int tm_unpack(struct buffer *raw, struct buffer *messages, const struct tm_job *job,
              struct error *err)
{
    while (buffer_len(raw) > 0) {
        const uint8_t *p = buffer_ptr(raw);
        size_t n = buffer_len(raw), length = n, header = 0;
        if (job->is_framed) {
            size_t seen = n < sizeof(magic) ? n : sizeof(magic);
            if (memcmp(p, magic, seen) != 0)
                return error_set(err, EPROTO, "pbs_mom answers with something that is no packet");
            if (n < HEADER)
                return 0;
            header = HEADER;
            length = (size_t)p[7] << 24 | (size_t)p[8] << 16 | (size_t)p[9] << 8 | p[10];
            if (length == 0 || length > TM_ANSWER_MAX)
                return error_set(err, EPROTO, "pbs_mom answers with a packet of %zu bytes", length);
            if (n - HEADER < length)
                return 0;
        }
        buffer_append(messages, p + header, length);
        buffer_consume(raw, header + length);
    }
    return 0;
}

/* Reads items one after the other; what has failed once stays so. */
struct reader {
    const uint8_t *p;
    size_t n;
    ssize_t used; /* 0: not all is there; -1: malformed */
};

static int64_t get(struct reader *r)
{
    int64_t value = 0;
    if (r->used <= 0)
        return 0;
    ssize_t used = dis_get_number(r->p + r->used - 1, r->n - (size_t)(r->used - 1), &value);
    r->used = used <= 0 ? used : r->used + used;
    return value;
}

static const uint8_t *get_bytes(struct reader *r, size_t *ret_n)
{
    const uint8_t *data = NULL;
    *ret_n = 0;
    if (r->used <= 0)
        return NULL;
    ssize_t used =
        dis_get_bytes(r->p + r->used - 1, r->n - (size_t)(r->used - 1), TM_DATA_MAX, &data, ret_n);
    r->used = used <= 0 ? used : r->used + used;
    return data;
}

static void get_init(struct reader *r, struct tm_answer *a)
{
    size_t n;
    a->value = get(r);
    if (a->value < 0 || a->value > TM_NODES_MAX)
        r->used = -1;
    for (int64_t i = 0; i < a->value && r->used > 0; i++)
        get(r);
    get_bytes(r, &n); /* the parent: job, node, task */
    get(r);
    get(r);
}

ssize_t tm_answer_read(const struct buffer *messages, struct tm_answer *ret, struct error *err)
{
    struct reader r = {.n = buffer_len(messages), .used = 1};
    *ret = (struct tm_answer){.event = 0};
    if (r.n == 0)
        return 0;
    r.p = buffer_ptr(messages);
    get(&r); /* protocol */
    get(&r); /* version */
    int64_t code = get(&r), event = get(&r);
    ret->event = (uint32_t)event;
    if (r.used > 0 && (event < TM_KINDS || event > UINT32_MAX))
        r.used = -1;
    if (code != 0) {
        int64_t error = get(&r);
        ret->error = code == CODE_ERROR ? (int)error : (int)code;
        if (ret->error == 0)
            ret->error = CODE_ERROR;
    } else if (r.used > 0) {
        enum tm_kind kind = tm_event_kind(ret->event);
        if (kind == TM_INIT)
            get_init(&r, ret);
        else if (kind == TM_SPAWN || kind == TM_OBIT || kind == TM_ATTACH)
            ret->value = get(&r);
        else if (kind == TM_GETINFO)
            ret->data = get_bytes(&r, &ret->n);
    }
    if (r.used < 0)
        return error_set(err, EPROTO, "pbs_mom answers with something that is no answer");
    return r.used == 0 ? 0 : r.used - 1;
}

const char *tm_error_text(int error)
{
    static const struct {
        int number;
        const char *text;
    } known[] = {
        {15009, "not found"},          {17000, "system error"},
        {17003, "unknown request"},    {17004, "not implemented"},
        {17006, "not found"},          {17008, "the session is attached already"},
        {17009, "user not permitted"}, {17010, "the owner is another one"},
        {17011, "no such process"},    {17012, "refused by a hook"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].number == error)
            return known[i].text;
    return "an error that is not known";
}

int tm_wait_status(int64_t status)
{
    if (status >= 256 && status < 256 + 128)
        return (int)(status - 256);
    return (int)(status & 0xff) << 8;
}
