/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs-loans.c - which of a job's cores and GPUs other jobs may use while a step of it is suspended
 *
 * The step's starter says when it has frozen the ranks, and when they go on. mprund does not rely
 * on that: it asks the kernel whether the cgroup that the starter names is frozen, and asks again
 * whenever it looks at all jobs, so a starter that was killed leaves nothing lent. The job's cpuset
 * loses the cores that are lent, so whatever its user runs meanwhile disturbs no other job. The job
 * cannot open a GPU that is lent, but a process that has it open and is not frozen can use it: so
 * the configuration enables loans of GPUs apart from those of cores.
 *
 * A note at the job's directory lists all of them, so that a daemon that is started again knows
 * them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "containment/cgroup/dir.h"
#include "node-daemon/front/host/gpus.h"
#include "node-daemon/front/jobs/jobs-private.h"
#include "node-daemon/front/quota.h"

static const char note[] = "lent";

enum { LOANS_MAX = 16, LOAN_TEXT_MAX = GRANT_CGROUP_MAX + GRANT_CPUS_MAX + GRANT_GPUS_MAX + 8 };

struct loan {
    struct loan *next;
    char cgroup[GRANT_CGROUP_MAX]; /* the step's, below the user's part of the job */
    struct idset cpus;             /* hardware threads */
    char gpus[GRANT_GPUS_MAX];
};

static struct loan *find(const struct job *job, const char *cgroup)
{
    struct loan *l = job->loans;
    while (l && strcmp(l->cgroup, cgroup) != 0)
        l = l->next;
    return l;
}

static bool is_frozen(const struct job *job, const char *cgroup)
{
    char below[CGROUP_NAME_MAX + GRANT_CGROUP_MAX + 4], text[256];
    uint64_t frozen;
    snprintf(below, sizeof(below), "%s/u/%s", job->dir, cgroup);
    return at_read(ground_at(job->jobs->ground, 0, below), "cgroup.events", text, sizeof(text)) >
               0 &&
           flat_key_u64(text, "frozen", &frozen) == 0 && frozen == 1;
}

static void take_note(const struct job *job)
{
    char text[LOANS_MAX * LOAN_TEXT_MAX] = "";
    size_t len = 0;
    for (const struct loan *l = job->loans; l && len < sizeof(text); l = l->next) {
        AUTO_FREE char *cpus = idset_format(&l->cpus);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %s %s\n", l->cgroup,
                                *cpus ? cpus : "-", l->gpus[0] ? l->gpus : "-");
    }
    if (jobs_note(job->jobs, job, note, text) < 0)
        log_warn("note what job %s lends at its cgroup: %s; it does not get that back after a "
                 "restart",
                 job->name, strerror(errno));
}

static struct loan *add(struct job *job, const char *cgroup)
{
    struct loan *l = must(calloc(1, sizeof(*l)));
    snprintf(l->cgroup, sizeof(l->cgroup), "%s", cgroup);
    l->next = job->loans;
    job->loans = l;
    return l;
}

static void drop(struct job *job, struct loan *l)
{
    struct loan **at = &job->loans;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    idset_free(&l->cpus);
    free(l);
}

void loans_free(struct job *job)
{
    while (job->loans)
        drop(job, job->loans);
}

/* ---- lending --------------------------------------------------------------------------------- */

static void lend_gpus(struct job *job, struct loan *l, const char *asked)
{
    char rest[GRANT_GPUS_MAX] = "";
    gpus_list_add(job->gpus, asked, 1, l->gpus, sizeof(l->gpus));
    gpus_list_add(job->gpus, asked, 0, rest, sizeof(rest));
    if (!l->gpus[0])
        return;
    snprintf(job->gpus, sizeof(job->gpus), "%s", rest);
    gpus_note(job);
    gpus_hold(job);
}

static void tell(const struct job *job, const struct loan *l)
{
    if (!times_are_to_tell(job->lent))
        return;
    AUTO_FREE char *cpus = idset_format(&l->cpus);
    log_note("job %s is suspended: others can have its hardware threads %s, GPUs %s", job->name,
             *cpus ? cpus : "none", l->gpus[0] ? l->gpus : "none");
}

static int lend(struct job *job, const char *cgroup, struct idset *cpus, const char *gpus,
                struct error *err)
{
    size_t n = 0;
    unsigned lends = job->jobs->conf->lends;
    for (const struct loan *l = job->loans; l; l = l->next)
        n++;
    if (n >= LOANS_MAX)
        return error_errno(err, E2BIG, "lend what job %s has", job->name);
    struct loan *l = add(job, cgroup);
    int rc = lends & LEND_CORES ? cores_lend(job, cpus, err) : 0;
    if (rc < 0 || !(lends & LEND_CORES))
        idset_free(cpus);
    l->cpus = *cpus;
    *cpus = (struct idset){0};
    if (lends & LEND_GPUS)
        lend_gpus(job, l, gpus);
    if (idset_count(&l->cpus) == 0 && !l->gpus[0]) {
        drop(job, l);
        return rc;
    }
    take_note(job);
    job->lent++;
    tell(job, l);
    return 0;
}

/* The starter's own names have no other letters. */
static bool is_plain(const char *cgroup)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "._-/";
    return strspn(cgroup, plain) == strlen(cgroup) && !strstr(cgroup, "..");
}

int jobs_lend(struct job *job, const char *cgroup, const char *cpus, const char *gpus,
              struct error *err)
{
    AUTO(idset_free) struct idset set = {0};
    if (!job->jobs->conf->lends)
        return error_set(err, ENOTSUP, "mprund lends nothing of suspended steps here");
    if (!is_plain(cgroup))
        return error_set(err, EINVAL, "lend what a step has: its cgroup's name is none of mprun's");
    loans_check(job);
    if (!is_frozen(job, cgroup) || find(job, cgroup))
        return 0;
    if (idset_parse(cpus, &set, err) < 0)
        return error_context(err, "lend hardware threads");
    return lend(job, cgroup, &set, gpus, err);
}

/* ---- taking back ----------------------------------------------------------------------------- */

static void end(struct job *job, struct loan *l)
{
    struct error e;
    struct idset cpus = l->cpus;
    char gpus[GRANT_GPUS_MAX], shared[GRANT_GPUS_MAX] = "";
    l->cpus = (struct idset){0};
    memcpy(gpus, l->gpus, sizeof(gpus));
    drop(job, l); /* first: the memory of a job that lends is not looked at */
    if (cores_take_back(job, &cpus, &e) < 0)
        log_warn("job %s goes on with the cores that it kept: %s", job->name, e.text);
    else if (idset_count(&cpus) > 0 && times_are_to_tell(job->lent))
        cores_tell(job);
    idset_free(&cpus);
    take_note(job);
    if (!gpus[0])
        return;
    gpus_list_add(gpus, job->gpus, 0, job->gpus, sizeof(job->gpus));
    gpus_note(job);
    gpus_hold(job);
    jobs_gpus_of_others(job, shared, sizeof(shared));
    if (shared[0] && times_are_to_tell(job->lent))
        log_warn("job %s goes on with GPUs %s, which another job has, too", job->name, shared);
}

void loans_check(struct job *job)
{
    for (struct loan *l = job->loans, *next; l; l = next) {
        next = l->next;
        if (!job->jobs->conf->lends || !is_frozen(job, l->cgroup))
            end(job, l);
    }
    if (job->lent > 0 && !job->loans)
        cores_have_alone(job);
}

void loans_forget_cores(const struct job *job)
{
    for (struct loan *l = job->loans; l; l = l->next)
        idset_free(&l->cpus);
    if (job->loans)
        take_note(job);
}

void loans_read(struct job *job)
{
    char text[LOANS_MAX * LOAN_TEXT_MAX], cgroup[GRANT_CGROUP_MAX], cpus[GRANT_CPUS_MAX],
        gpus[GRANT_GPUS_MAX];
    int n = 0;
    ssize_t len = jobs_read_note(job->jobs, job, note, text, sizeof(text));
    job->lent = len >= 0;
    if (len <= 0)
        return;
    for (const char *at = text; sscanf(at, "%127s %511s %255s%n", cgroup, cpus, gpus, &n) == 3;
         at += n) {
        struct loan *l = add(job, cgroup);
        (void)idset_parse(strcmp(cpus, "-") ? cpus : "", &l->cpus, NULL);
        snprintf(l->gpus, sizeof(l->gpus), "%s", strcmp(gpus, "-") ? gpus : "");
    }
}

/* ---- telling --------------------------------------------------------------------------------- */

size_t loans_count_gpus(const struct job *job)
{
    size_t n = 0;
    for (const struct loan *l = job->loans; l; l = l->next)
        n += gpus_list_count(l->gpus);
    return n;
}

void loans_describe(const struct job *job, struct grant_answer *ret)
{
    const struct host_cores *h = &job->jobs->cores;
    for (const struct loan *l = job->loans; l; l = l->next)
        for (size_t c = 0; c < h->n; c++)
            ret->cores_lent += idset_intersects(&h->core[c].threads, &l->cpus);
    ret->gpus_lent = (uint32_t)loans_count_gpus(job);
}

void jobs_gpus_of_others(const struct job *job, char *buf, size_t n)
{
    const struct jobs *j = job->jobs;
    for (size_t i = 0; i < j->n; i++)
        if (j->job[i] != job)
            gpus_list_add(job->gpus, j->job[i]->gpus, 1, buf, n);
}
