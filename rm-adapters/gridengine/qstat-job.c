/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-job.c - the elements of detailed_job_info that matter here: the tables `lists` and `leaves`
 *
 * A list is an element whose elements are all of one kind; their names differ between versions.
 * Gridware has requests in sets, and of what it granted GRU_amount; Univa has GRU_value ("2.000G",
 * "mic0 mic1"). */
#include "rm-adapters/gridengine/qstat-job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "rm-adapters/gridengine/qstat-xml.h"

enum {
    LIST_MAX = 1 << 16, /* requests, grants */
    NAME_MAX_BYTES = 255,
};

/* The parts of a host, request or grant that were read so far. */
struct entry {
    char name[NAME_MAX_BYTES + 1], host[NAME_MAX_BYTES + 1];
    struct gridengine_value value, number; /* of its text; as a number */
    uint32_t consumable, slots;
    char *ids;
    size_t nids;
    char id[NAME_MAX_BYTES + 1];
};

struct reading {
    struct gridengine_job job;
    uint32_t want; /* task; 0: the only one */
    uint32_t task; /* the one that is being read */
    size_t njobs, set_first;
    struct entry entry;
    uint32_t scope;        /* of the request set */
    struct hostlist hosts; /* of the task that is being read */
    struct gridengine_grant *grants;
    size_t ngrants;
    bool is_unknown;
    char unknown_name[64];
};

static void free_grants(struct gridengine_grant *grants, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(grants[i].name);
        free(grants[i].host);
        free(grants[i].ids);
    }
    free(grants);
}

void gridengine_job_free(struct gridengine_job *job)
{
    free(job->owner);
    free(job->name);
    free(job->pe);
    for (size_t i = 0; i < job->nrequests; i++)
        free(job->requests[i].name);
    free(job->requests);
    hostlist_free(&job->hosts);
    free_grants(job->grants, job->ngrants);
    *job = (struct gridengine_job){.id = 0};
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void keep(char **to, const char *text)
{
    free(*to);
    *to = must(strdup(text));
}

/* A name that is too long is an error: a shorter one could be another's. */
static int keep_name(char to[NAME_MAX_BYTES + 1], const struct xml_place *p, const char *text,
                     struct error *err)
{
    char shown[64];
    size_t n = strlen(text);
    if (n > NAME_MAX_BYTES)
        return error_set(err, EBADMSG, "<%s> is '%s...', which is longer than %d bytes",
                         xml_name(p, 0), word_shown(text, n, shown), NAME_MAX_BYTES);
    memcpy(to, text, n + 1);
    return 0;
}

static int keep_number(uint32_t *to, const struct xml_place *p, const char *text, uint32_t max,
                       struct error *err)
{
    char shown[64], what[64];
    int64_t number;
    snprintf(what, sizeof(what), "<%.40s>", xml_name(p, 0));
    if (number_parse(word_shown(text, strlen(text), shown), what, 0, max, &number, err) < 0) {
        if (err)
            err->code = EBADMSG;
        return -1;
    }
    *to = (uint32_t)number;
    return 0;
}

/* Adds an element to the end of an array that has n. NULL: too many. */
static void *grow(void *array, size_t n, size_t size, struct error *err)
{
    return n < LIST_MAX ? must(reallocarray(array, n + 1, size))
                        : error_null(error_errno(err, E2BIG, "read a job's resources"));
}

/* ---- requests -------------------------------------------------------------------------------- */

static int request_ends(struct reading *r, struct error *err)
{
    struct gridengine_job *job = &r->job;
    struct gridengine_request *list = grow(job->requests, job->nrequests, sizeof(*list), err);
    if (!list)
        return -1;
    job->requests = list;
    list[job->nrequests++] = (struct gridengine_request){
        .name = must(strdup(r->entry.name)),
        .value = r->entry.value.set ? r->entry.value : r->entry.number,
        .consumable = r->entry.consumable,
    };
    return 0;
}

static void request_set_ends(struct reading *r)
{
    for (size_t i = r->set_first; i < r->job.nrequests; i++)
        r->job.requests[i].scope = r->scope;
    r->set_first = r->job.nrequests;
    r->scope = GRIDENGINE_ALL_TASKS;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static int add_id(struct entry *e, const char *id, struct error *err)
{
    text_append(&e->ids, " ", "%s", id);
    e->nids++;
    return e->nids <= LIST_MAX ? 0 : error_errno(err, E2BIG, "read a job's resources");
}

/* Univa's GRU_value is an amount or the ids, by the kind of resource, which is not named. */
static int grant_value(struct entry *e, const char *text, struct error *err)
{
    char *words = strdupa(text), *next = NULL;
    if (gridengine_value_parse(text, &e->value) < 0)
        e->value.set = 0;
    for (char *id = strtok_r(words, " ,", &next); id; id = strtok_r(NULL, " ,", &next))
        if (add_id(e, id, err) < 0)
            return -1;
    return 0;
}

static int id_ends(struct reading *r, struct error *err)
{
    int failed = r->entry.id[0] && add_id(&r->entry, r->entry.id, err) < 0;
    r->entry.id[0] = 0;
    return failed ? -1 : 0;
}

static int grant_ends(struct reading *r, struct error *err)
{
    struct gridengine_grant *list = grow(r->grants, r->ngrants, sizeof(*list), err);
    if (!list)
        return -1;
    r->grants = list;
    list[r->ngrants++] = (struct gridengine_grant){
        .name = must(strdup(r->entry.name)),
        .host = must(strdup(r->entry.host)),
        .amount = r->entry.value.set ? r->entry.value : r->entry.number,
        .ids = take_ptr(r->entry.ids),
        .nids = r->entry.nids,
    };
    return 0;
}

/* The list has a host once for each of its queues. */
static int host_ends(struct reading *r, struct error *err)
{
    if (r->entry.slots == 0 ||
        hostlist_add_slots(&r->hosts, r->entry.host, r->entry.slots, "qstat -j", err) == 0)
        return 0;
    if (err && err->code == EINVAL)
        err->code = EBADMSG;
    return error_context(err, "<JG_qhostname>");
}

static void task_begins(struct reading *r)
{
    hostlist_free(&r->hosts);
    free_grants(r->grants, r->ngrants);
    r->grants = NULL;
    r->ngrants = 0;
    r->task = 0;
}

/* Keep the task that was asked for, or else the first. */
static void task_ends(struct reading *r)
{
    struct gridengine_job *job = &r->job;
    job->ntasks++;
    if (job->task_known || (r->want && r->task != r->want))
        return;
    job->task_known = 1;
    job->task = r->task;
    job->hosts = r->hosts;
    r->hosts = (struct hostlist){.known = NULL};
    job->grants = take_ptr(r->grants);
    job->ngrants = r->ngrants;
    r->ngrants = 0;
}

/* ---- which is what --------------------------------------------------------------------------- */

enum thing { NOTHING, JOB, REQUEST, REQUEST_SET, TASK, HOST, GRANT, DEVICE };

/* The elements of this list, in a thing of that kind, are things. */
static const struct {
    enum thing within;
    const char *list;
    enum thing is;
} lists[] = {
    {JOB, "JB_hard_resource_list", REQUEST},
    {JOB, "JB_request_set_list", REQUEST_SET},
    {REQUEST_SET, "JRS_hard_resource_list", REQUEST},
    {JOB, "JB_ja_tasks", TASK},
    {TASK, "JAT_granted_destin_identifier_list", HOST},
    {TASK, "JAT_granted_resources_list", GRANT},
    {GRANT, "GRU_resource_map_list", DEVICE},
};

/* How the text of an element is kept in a thing of that kind. */
static const struct {
    enum thing of;
    const char *element;
    enum { TEXT, NAME, NUMBER, VALUE, VALUE_OR_IDS } kind;
    size_t member; /* of struct reading: char *, char[], uint32_t, struct gridengine_value */
    uint32_t max;  /* of a number */
} leaves[] = {
    {JOB, "JB_job_number", NUMBER, offsetof(struct reading, job.id), UINT32_MAX},
    {JOB, "JB_owner", TEXT, offsetof(struct reading, job.owner), 0},
    {JOB, "JB_job_name", TEXT, offsetof(struct reading, job.name), 0},
    {JOB, "JB_pe", TEXT, offsetof(struct reading, job.pe), 0},
    {REQUEST, "CE_name", NAME, offsetof(struct reading, entry.name), 0},
    {REQUEST, "CE_stringval", VALUE, offsetof(struct reading, entry.value), 0},
    {REQUEST, "CE_doubleval", VALUE, offsetof(struct reading, entry.number), 0},
    {REQUEST, "CE_consumable", NUMBER, offsetof(struct reading, entry.consumable), 100},
    {REQUEST_SET, "JRS_scope", NUMBER, offsetof(struct reading, scope), GRIDENGINE_SLAVE_TASKS},
    {TASK, "JAT_task_number", NUMBER, offsetof(struct reading, task), UINT32_MAX},
    {HOST, "JG_qhostname", NAME, offsetof(struct reading, entry.host), 0},
    {HOST, "JG_slots", NUMBER, offsetof(struct reading, entry.slots), HOSTLIST_SLOTS_MAX},
    {GRANT, "GRU_name", NAME, offsetof(struct reading, entry.name), 0},
    {GRANT, "GRU_host", NAME, offsetof(struct reading, entry.host), 0},
    {GRANT, "GRU_amount", VALUE, offsetof(struct reading, entry.number), 0},
    {GRANT, "GRU_value", VALUE_OR_IDS, offsetof(struct reading, entry), 0},
    {DEVICE, "RESL_value", NAME, offsetof(struct reading, entry.id), 0},
};

static bool is_in_job(const struct xml_place *p)
{
    return p->depth >= 3 && strcmp(p->names[0], "detailed_job_info") == 0 &&
           strcmp(p->names[1], "djob_info") == 0;
}

/* The kind of the element `up` levels above a place in a job. */
static enum thing thing_at(const struct xml_place *p, size_t up)
{
    if (p->depth <= up + 3)
        return p->depth == up + 3 ? JOB : NOTHING;
    enum thing within = thing_at(p, up + 2);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (lists[i].within == within && xml_is(p, up + 1, lists[i].list))
            return lists[i].is;
    return NOTHING;
}

static void begins(void *arg, const struct xml_place *p)
{
    struct reading *r = arg;
    enum thing thing = is_in_job(p) ? thing_at(p, 0) : NOTHING;
    if (thing == TASK)
        task_begins(r);
    if (thing == REQUEST || thing == HOST || thing == GRANT) {
        free(r->entry.ids);
        r->entry = (struct entry){.name = ""};
    }
}

static int thing_ends(struct reading *r, enum thing thing, struct error *err)
{
    switch (thing) {
    case REQUEST:
        return request_ends(r, err);
    case HOST:
        return host_ends(r, err);
    case GRANT:
        return grant_ends(r, err);
    case DEVICE:
        return id_ends(r, err);
    case JOB:
        r->njobs++;
        return 0;
    case REQUEST_SET:
        request_set_ends(r);
        return 0;
    case TASK:
        task_ends(r);
        return 0;
    default:
        return 0;
    }
}

static int leaf_ends(struct reading *r, const struct xml_place *p, const char *text,
                     struct error *err)
{
    enum thing of = thing_at(p, 1);
    size_t i = 0, n = sizeof(leaves) / sizeof(leaves[0]);
    while (i < n && (leaves[i].of != of || !xml_is(p, 0, leaves[i].element)))
        i++;
    if (i == n)
        return 0;
    void *to = (char *)r + leaves[i].member;
    switch (leaves[i].kind) {
    case TEXT:
        keep(to, text);
        return 0;
    case NAME:
        return keep_name(to, p, text, err);
    case NUMBER:
        return keep_number(to, p, text, leaves[i].max, err);
    case VALUE:
        gridengine_value_parse(text, to); /* not set where it is a text */
        return 0;
    default:
        return grant_value(to, text, err);
    }
}

/* The answer for a job that is not there: <unknown_jobs><ST_name>, in one more element or not. */
static int other_document(struct reading *r, const struct xml_place *p, const char *text,
                          struct error *err)
{
    if (strcmp(p->names[0], "unknown_jobs") == 0) {
        r->is_unknown = true;
        if (xml_is(p, 0, "ST_name"))
            word_shown(text, strlen(text), r->unknown_name);
    } else if (strcmp(p->names[0], "detailed_job_info") != 0) {
        char shown[64];
        return error_set(err, EBADMSG, "it is a <%s>, not the <detailed_job_info> of qstat -xml -j",
                         word_shown(p->names[0], strlen(p->names[0]), shown));
    }
    return 0;
}

static int ends(void *arg, const struct xml_place *p, const char *text, struct error *err)
{
    struct reading *r = arg;
    if (!is_in_job(p))
        return other_document(r, p, text, err);
    return leaf_ends(r, p, text, err) < 0 ? -1 : thing_ends(r, thing_at(p, 0), err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int check(struct reading *r, struct error *err)
{
    struct gridengine_job *job = &r->job;
    if (r->is_unknown && r->unknown_name[0])
        return error_set(err, ESRCH, "Grid Engine knows no job '%s' (any more)", r->unknown_name);
    if (r->is_unknown || r->njobs == 0)
        return error_set(err, ESRCH, "there is no job in it");
    if (r->njobs > 1)
        return error_set(err, EBADMSG, "there are %zu jobs in it; ask qstat for one", r->njobs);
    if (job->id == 0)
        return error_set(err, EBADMSG, "the job has no number");
    if (r->want == 0 && job->ntasks > 1)
        return error_set(err, EINVAL, "job %u has %zu running tasks; give the number of one",
                         job->id, job->ntasks);
    if (!job->task_known)
        job->task = r->want ? r->want : 1;
    if (job->task == 0)
        return error_set(err, EBADMSG, "a task of job %u has no number", job->id);
    char **texts[] = {&job->owner, &job->name, &job->pe};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!*texts[i])
            keep(texts[i], "");
    return 0;
}

int gridengine_job_parse(const char *bytes, size_t n, uint32_t task, struct gridengine_job *ret,
                         struct error *err)
{
    static const struct xml_events events = {.begin = begins, .end = ends};
    struct reading r = {.want = task};
    int failed = gridengine_xml_walk(bytes, n, &events, &r, err) < 0 || check(&r, err) < 0;
    task_begins(&r); /* frees what no task has */
    free(r.entry.ids);
    if (failed) {
        gridengine_job_free(&r.job);
        return -1;
    }
    *ret = r.job;
    return 0;
}
