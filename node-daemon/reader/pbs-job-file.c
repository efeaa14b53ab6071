/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/pbs-job-file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(void *) >= sizeof(int32_t), "offsets below are those of 64 bits");

static int32_t int_at(const char *bytes, size_t at)
{
    int32_t value;
    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

/* The text in a field; NULL: it does not end there, or is empty. */
static const char *text_in(const char *field, size_t size)
{
    return *field && memchr(field, 0, size) ? field : NULL;
}

/* ---- a job: a structure of fixed size, another one, and attributes --------------------------- */

/* The first word of the file is the version of this layout. */
static const struct layout {
    int32_t version;
    size_t id, id_size, attributes;
} layouts[] = {{2200, 24, 276, 896} /* from 22.05 on */, {1900, 48, 274, 912}};

/* An attribute: a head, in which these are, then name, resource and value, each with its end. */
enum {
    ATTRIBUTE_SIZE = 72, /* of all of it; ATTRIBUTES_END: it is none, and no more follow */
    NAME_SIZE = 76,
    RESOURCE_SIZE = 80,
    VALUE_SIZE = 84,
    ATTRIBUTE_HEAD = 96,
    ATTRIBUTES_END = -711,
};

static const struct layout *find_layout(const char *bytes, size_t n)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (n >= layouts[i].attributes && int_at(bytes, 0) == layouts[i].version)
            return &layouts[i];
    return NULL;
}

/* Which text this attribute is; NULL: none that counts. */
static const char **place_of(struct pbs_job *job, const char *name)
{
    return !strcmp(name, "euser")        ? &job->owner
           : !strcmp(name, "exec_vnode") ? &job->chunks
           : !strcmp(name, "exec_host2") ? &job->of_hosts
                                         : NULL;
}

/* Take the attribute at these bytes. Returns its size, or 0: it is malformed, or there twice. */
static size_t take_attribute(const char *bytes, size_t n, struct pbs_job *job)
{
    int32_t all = int_at(bytes, ATTRIBUTE_SIZE), name = int_at(bytes, NAME_SIZE),
            resource = int_at(bytes, RESOURCE_SIZE), value = int_at(bytes, VALUE_SIZE);
    if (name <= 0 || resource < 0 || value < 0 || all < ATTRIBUTE_HEAD || (size_t)all > n ||
        (int64_t)ATTRIBUTE_HEAD + name + resource + value != all)
        return 0;
    const char *text = text_in(bytes + ATTRIBUTE_HEAD, (size_t)name);
    const char **place = text && resource == 0 ? place_of(job, text) : NULL;
    if (!text)
        return 0;
    if (!place)
        return (size_t)all;
    if (*place || value == 0 || !(*place = text_in(text + name, (size_t)value)))
        return 0;
    return (size_t)all;
}

int pbs_job_read(const char *bytes, size_t n, struct pbs_job *ret, struct error *err)
{
    struct pbs_job job = {0};
    const struct layout *l = n >= sizeof(int32_t) ? find_layout(bytes, n) : NULL;
    if (!l)
        return error_set(err, EPROTO, "read a job of PBS: its file is of a version not known here");
    job.id = text_in(bytes + l->id, l->id_size);
    for (size_t at = l->attributes, size; job.id && n - at >= ATTRIBUTE_HEAD; at += size) {
        if (int_at(bytes + at, ATTRIBUTE_SIZE) == ATTRIBUTES_END) {
            *ret = job;
            return 0;
        }
        size = take_attribute(bytes + at, n - at, &job);
        if (size == 0)
            break;
    }
    return error_set(err, EPROTO, "read a job of PBS: its file is malformed");
}

/* ---- its chunks ------------------------------------------------------------------------------ */

/* The number of bytes in "1048576kb"; 0: it is none, or none that a machine has. */
static uint64_t parse_size(const char *text, size_t len)
{
    static const char units[] = "kmgtp";
    char *end;
    if (len == 0 || *text < '0' || *text > '9')
        return 0;
    unsigned long long value = strtoull(text, &end, 10);
    size_t left = (size_t)(end - text) <= len ? len - (size_t)(end - text) : 0;
    const char *unit = left == 2 ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    bool is_size = left == 0 || (left == 1 && *end == 'b') || (unit && end[1] == 'b');
    return is_size && value < (UINT64_C(1) << 62) >> shift ? value << shift : 0;
}

static uint32_t parse_count(const char *text, size_t len)
{
    char *end;
    if (len == 0 || *text < '0' || *text > '9')
        return 0;
    unsigned long value = strtoul(text, &end, 10);
    return (size_t)(end - text) == len && value <= INT_MAX ? (uint32_t)value : 0;
}

/* "ncpus=2": add it. */
static void take_resource(const char *text, size_t len, struct pbs_share *s)
{
    const char *value = memchr(text, '=', len);
    size_t name = value ? (size_t)(value - text) : len;
    if (!value)
        return;
    value++;
    size_t left = len - name - 1;
    if (name == 5 && !memcmp(text, "ncpus", name))
        s->cores += parse_count(value, left);
    else if (name == 5 && !memcmp(text, "ngpus", name))
        s->gpus += parse_count(value, left);
    else if (name == 3 && !memcmp(text, "mem", name))
        s->memory += parse_size(value, left);
}

/* "n1:ncpus=2:mem=1048576kb", or several of them with '+' between, where a chunk is of several
 * vnodes. */
static struct pbs_share read_chunk(const char *text, size_t len)
{
    struct pbs_share s = {0};
    for (const char *end = text + len; text < end;) {
        size_t one = strcspn(text, ":+)");
        take_resource(text, one, &s);
        text += one + 1;
    }
    return s;
}

static bool is_of_host(const char *element, const char *host)
{
    size_t n = strcspn(element, ".:/*+["), own = strcspn(host, ".");
    return n == own && !memcmp(element, host, n);
}

static void add(struct pbs_share *sum, const struct pbs_share *s, bool *has_unlimited)
{
    sum->cores += s->cores;
    sum->gpus += s->gpus;
    sum->memory += s->memory;
    *has_unlimited |= s->memory == 0;
}

struct pbs_share pbs_job_share(const struct pbs_job *job, const char *host)
{
    static const struct pbs_share none;
    struct pbs_share sum = none;
    bool has_unlimited = false;
    const char *chunk = job->chunks, *of = job->of_hosts;
    while (chunk && of && *chunk == '(') {
        size_t len = strcspn(++chunk, "()");
        struct pbs_share s = read_chunk(chunk, len);
        if (is_of_host(of, host))
            add(&sum, &s, &has_unlimited);
        of += strcspn(of, "+");
        chunk += len;
        if (!strcmp(chunk, ")") && !*of) {
            sum.memory = has_unlimited ? 0 : sum.memory;
            return sum;
        }
        if (strncmp(chunk, ")+(", 3) != 0 || *of != '+')
            return none;
        chunk += 2;
        of++;
    }
    return none;
}

/* ---- a task ---------------------------------------------------------------------------------- */

/* The end of its structure: what it was started with, seven numbers, and room for more. */
enum {
    TASK_ROOM = 64,
    TASK_SESSION = TASK_ROOM + 8, /* from the end */
    TASK_STATUS = TASK_ROOM + 12,
    TASK_LEAST = TASK_ROOM + 28 + 8,
    RUNNING = 1,
};

pid_t pbs_task_session(const char *bytes, size_t n)
{
    if (n < TASK_LEAST || n > PBS_TASK_MAX || n % sizeof(int32_t) != 0)
        return 0;
    int32_t session = int_at(bytes, n - TASK_SESSION);
    return int_at(bytes, n - TASK_STATUS) == RUNNING && session > 1 ? session : 0;
}
