/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-job.c - the elements of detailed_job_info that matter here
 *
 *   djob_info/element/                                 a job
 *     JB_job_number JB_owner JB_job_name JB_pe
 *     JB_hard_resource_list/(X)/CE_...                 requests (Grid Engine, Univa)
 *     JB_request_set_list/(X)/JRS_scope                requests (Gridware)
 *                             JRS_hard_resource_list/(X)/CE_...
 *     JB_ja_tasks/(X)/JAT_task_number                  a task that runs
 *       JAT_granted_destin_identifier_list/(X)/JG_qhostname JG_slots
 *       JAT_granted_resources_list/(X)/GRU_name GRU_host
 *                                      GRU_amount      (Gridware)
 *                                      GRU_value       (Univa: "2.000G", "mic0 mic1")
 *                                      GRU_resource_map_list/(X)/RESL_value
 *
 * (X) has another name in each of them. */
#include "rm-adapters/gridengine/qstat-job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "common/words.h"
#include "rm-adapters/gridengine/qstat-xml.h"

enum {
    LIST_MAX = 1 << 16, /* requests, grants */
    NAME_MAX_BYTES = 255,
};

/* The parts of a task, or of an element of a list, that were read so far. */
struct entry {
    char name[NAME_MAX_BYTES + 1], host[NAME_MAX_BYTES + 1];
    struct gridengine_value value, number; /* of its text; as a number */
    unsigned consumable;
    int64_t slots;
    char *ids;
    size_t nids;
    char id[NAME_MAX_BYTES + 1];
};

struct reading {
    struct gridengine_job *job;
    uint32_t want; /* task; 0: the only one */
    uint32_t task; /* the one that is being read */
    size_t njobs, set_first;
    struct entry entry;
    unsigned scope;        /* of the request set */
    struct hostlist hosts; /* of the task that is being read */
    struct gridengine_grant *grants;
    size_t ngrants;
    int unknown;
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

static int keep(char **to, const char *text, struct error *err)
{
    free(*to);
    *to = strdup(text);
    return *to ? 0 : error_errno(err, ENOMEM, "read a job");
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

static int keep_number(int64_t *to, const struct xml_place *p, const char *text, int64_t max,
                       struct error *err)
{
    char shown[64], what[64];
    snprintf(what, sizeof(what), "<%.40s>", xml_name(p, 0));
    if (number_parse(word_shown(text, strlen(text), shown), what, 0, max, to, err) == 0)
        return 0;
    if (err)
        err->code = EBADMSG;
    return -1;
}

/* Adds an element to the end of an array that has n. NULL: too many, or memory is out. */
static void *grow(void *array, size_t n, size_t size, struct error *err)
{
    void *grown = n < LIST_MAX ? reallocarray(array, n + 1, size) : NULL;
    if (!grown)
        error_errno(err, n < LIST_MAX ? ENOMEM : E2BIG, "read a job's resources");
    return grown;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int in_requests(const struct xml_place *p, size_t up)
{
    size_t depth = p->depth - up;
    return (depth == 4 && xml_is(p, up, "JB_hard_resource_list")) ||
           (depth == 6 && xml_is(p, up, "JRS_hard_resource_list") &&
            xml_is(p, up + 2, "JB_request_set_list"));
}

static int request_leaf(struct reading *r, const struct xml_place *p, const char *text,
                        struct error *err)
{
    int64_t number;
    if (xml_is(p, 0, "CE_name"))
        return keep_name(r->entry.name, p, text, err);
    if (xml_is(p, 0, "CE_stringval"))
        gridengine_value_parse(text, &r->entry.value);
    else if (xml_is(p, 0, "CE_doubleval"))
        gridengine_value_parse(text, &r->entry.number);
    else if (xml_is(p, 0, "CE_consumable")) {
        if (keep_number(&number, p, text, 100, err) < 0)
            return -1;
        r->entry.consumable = (unsigned)number;
    }
    return 0;
}

static int request_ends(struct reading *r, struct error *err)
{
    struct gridengine_job *job = r->job;
    struct gridengine_request *list = grow(job->requests, job->nrequests, sizeof(*list), err);
    if (!list)
        return -1;
    job->requests = list;
    char *name = strdup(r->entry.name);
    if (!name)
        return error_errno(err, ENOMEM, "read a job's resources");
    list[job->nrequests++] = (struct gridengine_request){
        .name = name,
        .value = r->entry.value.set ? r->entry.value : r->entry.number,
        .consumable = r->entry.consumable,
    };
    return 0;
}

static void request_set_ends(struct reading *r)
{
    for (size_t i = r->set_first; i < r->job->nrequests; i++)
        r->job->requests[i].scope = r->scope;
    r->set_first = r->job->nrequests;
    r->scope = GRIDENGINE_ALL_TASKS;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static int add_id(struct entry *e, const char *id, struct error *err)
{
    char *ids = NULL;
    if (asprintf(&ids, "%s%s%s", e->ids ? e->ids : "", e->ids ? " " : "", id) < 0)
        return error_errno(err, ENOMEM, "read a job's resources");
    free(e->ids);
    e->ids = ids;
    e->nids++;
    return e->nids <= LIST_MAX ? 0 : error_errno(err, E2BIG, "read a job's resources");
}

/* Univa's GRU_value is an amount or the ids, depending on the kind of resource, which is not named.
 */
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

static int grant_leaf(struct reading *r, const struct xml_place *p, const char *text,
                      struct error *err)
{
    if (xml_is(p, 0, "GRU_name"))
        return keep_name(r->entry.name, p, text, err);
    if (xml_is(p, 0, "GRU_host"))
        return keep_name(r->entry.host, p, text, err);
    if (xml_is(p, 0, "GRU_amount"))
        gridengine_value_parse(text, &r->entry.number);
    else if (xml_is(p, 0, "GRU_value"))
        return grant_value(&r->entry, text, err);
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
    struct gridengine_grant *g = &list[r->ngrants];
    *g = (struct gridengine_grant){
        .name = strdup(r->entry.name),
        .host = strdup(r->entry.host),
        .amount = r->entry.value.set ? r->entry.value : r->entry.number,
        .ids = take_ptr(r->entry.ids),
        .nids = r->entry.nids,
    };
    r->ngrants++;
    return g->name && g->host ? 0 : error_errno(err, ENOMEM, "read a job's resources");
}

static int host_leaf(struct reading *r, const struct xml_place *p, const char *text,
                     struct error *err)
{
    if (xml_is(p, 0, "JG_qhostname"))
        return keep_name(r->entry.host, p, text, err);
    if (xml_is(p, 0, "JG_slots"))
        return keep_number(&r->entry.slots, p, text, HOSTLIST_SLOTS_MAX, err);
    return 0;
}

/* The list has a host once for each of its queues. */
static int host_ends(struct reading *r, struct error *err)
{
    if (r->entry.slots == 0 || hostlist_add_slots(&r->hosts, r->entry.host,
                                                  (uint32_t)r->entry.slots, "qstat -j", err) == 0)
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
    struct gridengine_job *job = r->job;
    job->ntasks++;
    if (job->task_known || (r->want && r->task != r->want))
        return;
    job->task_known = 1;
    job->task = r->task;
    job->hosts = r->hosts;
    r->hosts = (struct hostlist){.places = NULL};
    job->grants = take_ptr(r->grants);
    job->ngrants = r->ngrants;
    r->ngrants = 0;
}

/* ---- the job --------------------------------------------------------------------------------- */

static int job_leaf(struct reading *r, const struct xml_place *p, const char *text,
                    struct error *err)
{
    int64_t number;
    if (xml_is(p, 0, "JB_job_number")) {
        if (keep_number(&number, p, text, UINT32_MAX, err) < 0)
            return -1;
        r->job->id = (uint32_t)number;
    } else if (xml_is(p, 0, "JB_owner")) {
        return keep(&r->job->owner, text, err);
    } else if (xml_is(p, 0, "JB_job_name")) {
        return keep(&r->job->name, text, err);
    } else if (xml_is(p, 0, "JB_pe")) {
        return keep(&r->job->pe, text, err);
    }
    return 0;
}

static int task_leaf(struct reading *r, const struct xml_place *p, const char *text,
                     struct error *err)
{
    int64_t number;
    if (!xml_is(p, 0, "JAT_task_number"))
        return 0;
    if (keep_number(&number, p, text, UINT32_MAX, err) < 0)
        return -1;
    r->task = (uint32_t)number;
    return 0;
}

/* ---- which is what --------------------------------------------------------------------------- */

static int in_job(const struct xml_place *p)
{
    return p->depth >= 3 && strcmp(p->names[0], "detailed_job_info") == 0 &&
           strcmp(p->names[1], "djob_info") == 0;
}

static int in_task(const struct xml_place *p)
{
    return p->depth >= 5 && strcmp(p->names[3], "JB_ja_tasks") == 0;
}

/* A list within a task, or one deeper in it: is the element `up` levels above it? */
static int task_list(const struct xml_place *p, size_t up, const char *name)
{
    return in_task(p) && p->depth == 6 + up && xml_is(p, up, name);
}

static int id_list(const struct xml_place *p, size_t up)
{
    return in_task(p) && p->depth == 8 + up && xml_is(p, up, "GRU_resource_map_list") &&
           xml_is(p, up + 2, "JAT_granted_resources_list");
}

static int element_of_list(const struct xml_place *p)
{
    return in_requests(p, 1) || task_list(p, 1, "JAT_granted_resources_list") ||
           task_list(p, 1, "JAT_granted_destin_identifier_list");
}

static void begins(void *arg, const struct xml_place *p)
{
    struct reading *r = arg;
    if (!in_job(p))
        return;
    if (p->depth == 5 && in_task(p))
        task_begins(r);
    if (element_of_list(p)) {
        free(r->entry.ids);
        r->entry = (struct entry){.name = ""};
    }
}

static int element_ends(struct reading *r, const struct xml_place *p, struct error *err)
{
    if (p->depth == 3)
        r->njobs++;
    if (in_requests(p, 1))
        return request_ends(r, err);
    if (task_list(p, 1, "JAT_granted_resources_list"))
        return grant_ends(r, err);
    if (task_list(p, 1, "JAT_granted_destin_identifier_list"))
        return host_ends(r, err);
    if (id_list(p, 1))
        return id_ends(r, err);
    if (p->depth == 5 && xml_is(p, 1, "JB_request_set_list"))
        request_set_ends(r);
    if (p->depth == 5 && in_task(p))
        task_ends(r);
    return 0;
}

static int leaf_ends(struct reading *r, const struct xml_place *p, const char *text,
                     struct error *err)
{
    int64_t number;
    if (p->depth == 4)
        return job_leaf(r, p, text, err);
    if (in_requests(p, 2))
        return request_leaf(r, p, text, err);
    if (task_list(p, 2, "JAT_granted_resources_list"))
        return grant_leaf(r, p, text, err);
    if (task_list(p, 2, "JAT_granted_destin_identifier_list"))
        return host_leaf(r, p, text, err);
    if (id_list(p, 2))
        return xml_is(p, 0, "RESL_value") ? keep_name(r->entry.id, p, text, err) : 0;
    if (p->depth == 6 && in_task(p))
        return task_leaf(r, p, text, err);
    if (p->depth == 6 && xml_is(p, 0, "JRS_scope") && xml_is(p, 2, "JB_request_set_list")) {
        if (keep_number(&number, p, text, GRIDENGINE_SLAVE_TASKS, err) < 0)
            return -1;
        r->scope = (unsigned)number;
    }
    return 0;
}

/* The answer for a job that is not there: <unknown_jobs><ST_name>, in one more element or not. */
static int other_document(struct reading *r, const struct xml_place *p, const char *text,
                          struct error *err)
{
    if (strcmp(p->names[0], "unknown_jobs") == 0) {
        r->unknown = 1;
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
    if (!in_job(p))
        return other_document(r, p, text, err);
    if (leaf_ends(r, p, text, err) < 0)
        return -1;
    return element_ends(r, p, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int check(struct reading *r, struct error *err)
{
    struct gridengine_job *job = r->job;
    if (r->unknown && r->unknown_name[0])
        return error_set(err, ESRCH, "Grid Engine knows no job '%s' (any more)", r->unknown_name);
    if (r->unknown || r->njobs == 0)
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
    if ((!job->owner && keep(&job->owner, "", err) < 0) ||
        (!job->name && keep(&job->name, "", err) < 0) || (!job->pe && keep(&job->pe, "", err) < 0))
        return -1;
    return 0;
}

int gridengine_job_parse(const char *bytes, size_t n, uint32_t task, struct gridengine_job *ret,
                         struct error *err)
{
    static const struct xml_events events = {.begin = begins, .end = ends};
    struct gridengine_job job = {.id = 0};
    struct reading r = {.job = &job, .want = task};
    int failed = gridengine_xml_walk(bytes, n, &events, &r, err) < 0 || check(&r, err) < 0;
    task_begins(&r); /* frees what no task has */
    free(r.entry.ids);
    if (failed) {
        gridengine_job_free(&job);
        return -1;
    }
    *ret = job;
    return 0;
}
