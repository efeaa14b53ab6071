/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs-gpus.c - which GPUs are a job's
 *
 * A manager that only counts them says how many; which ones is a matter of this host, and noted at
 * the job's directory: an id is locked for as long as that is there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "node-daemon/front/host/gpus.h"
#include "node-daemon/front/jobs/jobs-private.h"

static const char note[] = "gpus";

/* NUMA nodes of the job's cores: those of all cores where it has none of its own. */
static void nodes_of(const struct job *job, struct idset *ret)
{
    const struct host_cores *h = &job->jobs->cores;
    for (size_t c = 0; c < h->n; c++)
        if (idset_intersects(&h->core[c].threads, &job->cores.cpus))
            idset_add(ret, h->core[c].node);
}

static int choose(struct job *job, size_t more, struct error *err)
{
    const struct jobs *j = job->jobs;
    AUTO(gpus_free) struct gpus gpus = {0};
    AUTO(idset_free) struct idset nodes = {0};
    AUTO_CLOSE int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return error_errno(err, errno, "choose GPUs for job %s", job->name);
    AUTO_FREE const char **taken = must(calloc(j->n + 1, sizeof(*taken)));
    for (size_t i = 0; i < j->n; i++)
        taken[i] = j->job[i]->gpus;
    nodes_of(job, &nodes);
    gpus_read(root, j->conf->gpus, &gpus);
    for (size_t i = 0; j->conf->gpu && i < gpus.n; i++)
        if (idset_count(&j->conf->gpu[i].cores) > 0)
            gpus.gpu[i].cores = &j->conf->gpu[i].cores;
    size_t got =
        gpus_choose(&gpus, taken, &nodes, &job->cores.cpus, more, job->gpus, sizeof(job->gpus));
    if (got < more)
        return error_set(err, ENOSPC,
                         "job %s is to have %zu GPU%s more of this host, and of its %zu only %zu "
                         "%s free",
                         job->name, more, plural(more), gpus.n, got, got == 1 ? "is" : "are");
    return 0;
}

/* ---- holding --------------------------------------------------------------------------------- */

/* A device that is not there yet is made by its driver later. */
static int find_device(const char *file, struct cgroup_device *ret)
{
    struct stat st;
    unsigned major, minor;
    int end = 0;
    if (sscanf(file, "%7u:%7u%n", &major, &minor, &end) == 2 && !file[end]) {
        *ret = (struct cgroup_device){.major = major, .minor = minor};
        return 0;
    }
    if (stat(file, &st) < 0)
        return -1;
    errno = ENODEV;
    if (!S_ISCHR(st.st_mode))
        return -1;
    *ret = (struct cgroup_device){.major = major(st.st_rdev), .minor = minor(st.st_rdev)};
    return 0;
}

static void add_devices(struct mover_request *q, const char *const *files, int is_denied)
{
    for (; *files && q->ndevices < CGROUP_DEVICES_MAX; files++) {
        struct cgroup_device *d = &q->device[q->ndevices];
        if (find_device(*files, d) < 0) {
            if (is_denied)
                log_warn("keep jobs from '%s': %s; they can open it once it is there", *files,
                         strerror(errno));
            continue;
        }
        d->is_denied = (uint32_t)is_denied;
        q->ndevices++;
    }
}

/* The job, or a cgroup of it: to those of the job's GPUs that are in the list. */
static int hold(struct job *job, const char *cgroup, const char *gpus, struct error *err)
{
    const struct conf *c = job->jobs->conf;
    struct mover_request q = {.uid = 0};
    struct mover_answer a;
    snprintf(q.text, sizeof(q.text), "%s", cgroup);
    add_devices(&q, c->gpu_files, !job->gpus[0]);
    for (size_t i = 0; c->gpus[i]; i++)
        add_devices(&q, c->gpu[i].files,
                    !gpus_list_has(job->gpus, c->gpus[i]) || !gpus_list_has(gpus, c->gpus[i]));
    return jobs_ask(job->jobs, job, &q, MOVER_DEVICES, -1, &a, err);
}

/* Slurm does not say which GPUs a job has; all others say how many. */
void gpus_hold(struct job *job)
{
    struct error e;
    if (!job->jobs->conf->gpu || job->manager == GRANT_SLURM)
        return;
    job->gpus_held = hold(job, "", job->gpus, &e) == 0;
    if (!job->gpus_held)
        log_warn("job %s can open GPUs of others: %s", job->name, e.text);
}

int jobs_hold_gpus(struct job *job, const char *cgroup, const char *gpus, struct error *err)
{
    char below[GRANT_CGROUP_MAX + 4];
    if (!job->gpus_held)
        return error_set(err, ENOTSUP, "job %s is not held to its GPUs here", job->name);
    snprintf(below, sizeof(below), "/u/%s", cgroup);
    return hold(job, below, gpus, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The first n of the list. */
static void cut(char *list, size_t n)
{
    char *at = list;
    for (; n > 0 && *at; n--)
        at += strcspn(at, ","), at += *at && n > 1;
    *at = 0;
}

void gpus_note(const struct job *job)
{
    if (jobs_note(job->jobs, job, note, job->gpus) < 0)
        log_warn("note the GPUs '%s' of job %s at its cgroup: %s; they are free after a restart",
                 job->gpus, job->name, strerror(errno));
}

static int change(struct job *job, unsigned n, struct error *err)
{
    size_t has = gpus_list_count(job->gpus) + loans_count_gpus(job);
    int rc = 0;
    /* what its processes may open, or have open, is not to be another job's */
    if (n == has || (n < has && job->gpus_held))
        return 0;
    if (n < has)
        cut(job->gpus, n);
    else
        rc = choose(job, n - has, err);
    gpus_note(job);
    log_note("job %s has %s%s", job->name, job->gpus[0] ? "GPUs " : "no GPU", job->gpus);
    return rc;
}

int jobs_set_gpus(struct job *job, unsigned n, struct error *err)
{
    int rc = change(job, n, err);
    gpus_hold(job);
    return rc;
}

void gpus_note_read(struct job *job)
{
    (void)jobs_read_note(job->jobs, job, note, job->gpus, sizeof(job->gpus));
}

/* ---- telling --------------------------------------------------------------------------------- */

void gpus_describe(const struct job *job, struct grant_answer *ret)
{
    const struct conf *c = job->jobs->conf;
    size_t len = 0, room = sizeof(ret->gpu_cores);
    snprintf(ret->gpus, sizeof(ret->gpus), "%s", job->gpus);
    ret->devices_held = (uint32_t)job->gpus_held;
    for (const char *at = job->gpus; c->gpu && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t i = 0, n = strcspn(at, ",");
        while (c->gpus[i] && (strlen(c->gpus[i]) != n || strncmp(c->gpus[i], at, n) != 0))
            i++;
        AUTO_FREE char *cores = c->gpus[i] ? idset_format(&c->gpu[i].cores) : NULL;
        len += (size_t)snprintf(ret->gpu_cores + len, room - len, "%s%s",
                                len || at > job->gpus ? ";" : "", cores ? cores : "");
        if (len >= room) { /* all of it, or nothing */
            memset(ret->gpu_cores, 0, room);
            return;
        }
    }
}
