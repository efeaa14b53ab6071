/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs-cores.c - which cores a job's processes are held to
 *
 * Which cores are taken is what the jobs' cpusets have; how a job came by its cores, and how many
 * it was to have, is noted at its directory. So a daemon that is started again knows both.
 *
 * With node_rounding they are all cores of NUMA nodes, and perhaps their memory, too: jobs-nodes.c.
 * Without, memory nodes are not cut: a job has its memory limit, and may use what its own nodes do
 * not have. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "containment/cgroup/dir.h"
#include "node-daemon/front/host/host-cores.h"
#include "node-daemon/front/jobs/jobs-private.h"

static const char note[] = "cores";
static const char *const how_words[] = {[GRANT_CORES_ALL] = "all",
                                        [GRANT_CORES_CHOSEN] = "chosen",
                                        [GRANT_CORES_MANAGER] = "manager",
                                        [GRANT_CORES_SHARED] = "shared"};
enum { HOW_WORDS = sizeof(how_words) / sizeof(how_words[0]) };

/* ---- opening --------------------------------------------------------------------------------- */

int cores_open(struct jobs *j, struct error *err)
{
    AUTO_CLOSE int system = open("/sys/devices/system", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    j->cores_part = -1;
    for (size_t i = 0; i < j->ground->n; i++)
        if (j->ground->part[i].controllers & CGROUP_BIT(CGROUP_CPUSET))
            j->cores_part = (int)i;
    if (system < 0)
        return error_errno(err, errno, "open '/sys/devices/system'");
    if (host_cores_read(system, &j->cores, err) < 0)
        return -1;
    /* v1: below a cpuset that is exclusive, so that nobody else can make one that overlaps, those
     * of jobs can be, too. That is for who asks for it. */
    struct error e;
    struct mover_request q = {.exclusive = 1};
    struct mover_answer a;
    if (j->conf->cores == CORES_EXCLUSIVE && mover_ask(j->start, &q, MOVER_PREPARE, -1, &a, &e) < 0)
        log_note("%s; jobs have cores of their own all the same", e.text);
    return 0;
}

static int can_choose(const struct jobs *j)
{
    return j->cores_part >= 0 && j->conf->cores != CORES_OFF;
}

struct cgroup_at cores_at(const struct job *job)
{
    return ground_at(job->jobs->ground, (size_t)job->jobs->cores_part, job->dir);
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* A byte a core. */
struct sets {
    unsigned char *all;    /* the memory of all of them */
    unsigned char *pool;   /* that jobs can have */
    unsigned char *free;   /* those of them that nobody has */
    unsigned char *chosen; /* the result */
    unsigned char *own;    /* that the job has already */
    unsigned char *some;   /* for whoever needs one more */
    unsigned char *other;  /* the same */
};

static void sets_free(struct sets *s)
{
    free(s->all);
}
#define AUTO_SETS __attribute__((cleanup(sets_free)))

static int is_held(const struct job *job)
{
    return job->cores.how == GRANT_CORES_CHOSEN || job->cores.how == GRANT_CORES_MANAGER;
}

/* Free is what neither a job has, but `except`, nor is in `kept` (NULL: nothing). */
static void find_free(const struct jobs *j, const struct job *except, const unsigned char *kept,
                      struct sets *s)
{
    for (size_t c = 0; c < j->cores.n; c++)
        s->free[c] = s->pool[c] && !(kept && kept[c]);
    for (size_t i = 0; i < j->n; i++) {
        if (j->job[i] == except || !is_held(j->job[i]))
            continue;
        host_cores_of_threads(&j->cores, &j->job[i]->cores.cpus, s->other);
        for (size_t c = 0; c < j->cores.n; c++)
            s->free[c] &= !s->other[c];
    }
}

/* A core of which one hardware thread is the system's is the system's. What `job` has (NULL: a new
 * one, nothing) is free. */
static int find_sets(const struct jobs *j, const struct job *job, struct sets *s)
{
    AUTO(idset_free) struct idset here = {0};
    size_t n = j->cores.n;
    s->all = must(calloc(6, n + 1));
    s->pool = s->all;
    s->free = s->pool + n;
    s->chosen = s->free + n;
    s->own = s->chosen + n;
    s->some = s->own + n;
    s->other = s->some + n;
    if (at_read_cpus(ground_at(j->ground, (size_t)j->cores_part, "."), &here) < 0)
        return -1;
    host_cores_of_threads(&j->cores, &here, s->pool);
    host_cores_of_threads(&j->cores, &j->conf->system_cpus, s->other);
    for (size_t c = 0; c < n; c++)
        s->pool[c] &= !s->other[c];
    if (job && is_held(job))
        host_cores_of_threads(&j->cores, &job->cores.cpus, s->own);
    find_free(j, job, NULL, s);
    return 0;
}

static size_t count(const struct jobs *j, const unsigned char *set)
{
    return host_cores_count(&j->cores, set);
}

/* Threads of these cores, those that the jobs' cpuset has. */
static int threads_of(const struct jobs *j, const unsigned char *set, struct idset *ret)
{
    AUTO(idset_free) struct idset here = {0};
    idset_free(ret);
    host_cores_threads(&j->cores, set, ret);
    if (at_read_cpus(ground_at(j->ground, (size_t)j->cores_part, "."), &here) < 0)
        return -1;
    idset_intersect(ret, &here);
    return 0;
}

/* n of the free cores: with node_rounding only of nodes that are free as a whole, and all of these
 * nodes. -1: there are too few; what is free is then what could have been had. */
static int choose_free(const struct jobs *j, size_t n, struct sets *s)
{
    if (j->conf->node_rounding)
        host_cores_keep_whole_nodes(&j->cores, s->pool, s->free);
    if (choose_cores(&j->cores, s->free, n, s->chosen) < 0)
        return -1;
    if (j->conf->node_rounding)
        host_cores_complete_nodes(&j->cores, s->pool, s->chosen);
    return 0;
}

/* ---- giving ---------------------------------------------------------------------------------- */

static void take_note(const struct job *job)
{
    char text[48];
    snprintf(text, sizeof(text), "%s %u", how_words[job->cores.how], job->cores.n);
    if (jobs_note(job->jobs, job, note, text) < 0)
        log_warn(
            "note the cores of job %s at its cgroup: %s; a daemon that is started again goes by "
            "its cpuset",
            job->name, strerror(errno));
}

/* Takes what is in cpus. */
static void record(struct job *job, enum grant_cores how, size_t n, struct idset *cpus)
{
    idset_free(&job->cores.cpus);
    job->cores = (struct job_cores){.how = how, .n = (unsigned)n, .cpus = *cpus};
    *cpus = (struct idset){0};
}

/* These are the job's cores from here on; its cpuset is another matter. */
static int set_cores(struct job *job, enum grant_cores how, size_t n, const unsigned char *set)
{
    AUTO(idset_free) struct idset cpus = {0};
    if (threads_of(job->jobs, set, &cpus) < 0)
        return -1;
    record(job, how, n, &cpus);
    return 0;
}

/* Does its cpuset have exactly these? Both versions take a set of which nothing can be had without
 * a word (v2 then gives all that the parent has). */
static int check_held(const struct job *job, const struct idset *cpus, struct error *err)
{
    AUTO(idset_free) struct idset has = {0};
    if (at_read_cpus(cores_at(job), &has) < 0)
        return error_errno(err, errno, "read its hardware threads");
    if (idset_equal(cpus, &has))
        return 0;
    AUTO_FREE char *wanted = idset_format(cpus), *got = idset_format(&has);
    return error_set(err, ENOTSUP, "give it hardware threads %s: it has %s", wanted, got);
}

static int give_cpus(const struct job *job, const struct idset *cpus, struct error *err)
{
    struct mover_request q = {.uid = 0};
    struct mover_answer a;
    AUTO_FREE char *text = idset_format(cpus);
    if ((size_t)snprintf(q.text, sizeof(q.text), "%s", text) >= sizeof(q.text))
        return error_errno(err, E2BIG, "give it hardware threads");
    return jobs_ask(job->jobs, job, &q, MOVER_CPUS, -1, &a, err) < 0 ? -1
                                                                     : check_held(job, cpus, err);
}

/* A job that is there already gets others: they are known as its own when its cpuset has them. */
static int change_quietly(struct job *job, enum grant_cores how, size_t n, const unsigned char *set,
                          struct error *err)
{
    AUTO(idset_free) struct idset cpus = {0};
    int rc = threads_of(job->jobs, set, &cpus);
    if (rc < 0) {
        error_errno(err, errno, "choose its hardware threads");
    } else if ((rc = give_cpus(job, &cpus, err)) < 0 &&
               idset_count(&job->cores.cpus) > 0) { /* it perhaps took others than these */
        struct error e;
        (void)give_cpus(job, &job->cores.cpus, &e);
    }
    if (rc < 0)
        return error_context(err, "give job %s other cores", job->name);
    record(job, how, n, &cpus);
    take_note(job);
    nodes_hold_memory(job);
    return 0;
}

void cores_tell(const struct job *job)
{
    AUTO_FREE char *text = idset_format(&job->cores.cpus);
    log_note("job %s now has hardware threads %s%s", job->name, text,
             job->cores.how == GRANT_CORES_SHARED ? ", as others have" : "");
}

static int change(struct job *job, enum grant_cores how, size_t n, const unsigned char *set,
                  struct error *err)
{
    if (change_quietly(job, how, n, set, err) < 0)
        return -1;
    cores_tell(job);
    return 0;
}

/* ---- what the manager says ------------------------------------------------------------------- */

/* Cores chosen by mprund give way to cores chosen by a manager. */
static void make_room(struct jobs *j, const struct job *newcomer, struct sets *s)
{
    struct error e;
    AUTO_FREE unsigned char *wanted = must(malloc(j->cores.n + 1));
    memcpy(wanted, s->chosen, j->cores.n);
    for (size_t i = 0; i < j->n; i++) {
        struct job *job = j->job[i];
        int is_in_the_way = 0;
        size_t has;
        if (job == newcomer || job->cores.how != GRANT_CORES_CHOSEN)
            continue;
        host_cores_of_threads(&j->cores, &job->cores.cpus, s->other);
        has = count(j, s->other);
        for (size_t c = 0; c < j->cores.n; c++)
            is_in_the_way |= s->other[c] && wanted[c];
        if (!is_in_the_way)
            continue;
        log_note("job %s has cores that its manager gives to job %s", job->name, newcomer->name);
        find_free(j, job, wanted, s);
        size_t n = job->loans ? has : job->cores.n;
        int alone = choose_free(j, n, s) == 0;
        if (change(job, alone ? GRANT_CORES_CHOSEN : GRANT_CORES_SHARED, job->cores.n,
                   alone ? s->chosen : s->pool, &e) < 0)
            log_error("%s", e.text);
    }
    memcpy(s->chosen, wanted, j->cores.n);
}

/* How many of the stated cores there are that jobs can have: they are chosen then. */
static size_t find_stated(const struct jobs *j, const struct job *job, const char *binding,
                          struct sets *s)
{
    struct error e;
    int n = binding[0] ? host_cores_find(&j->cores, binding, s->chosen, &e) : 0;
    for (size_t c = 0; n > 0 && c < j->cores.n; c++)
        if (s->chosen[c] && !s->pool[c]) {
            s->chosen[c] = 0;
            n--;
        }
    if (n <= 0 && binding[0])
        log_note("job %s: of the cores '%.60s' (socket,core) that its manager states none is for "
                 "jobs here",
                 job->name, binding);
    return n > 0 ? (size_t)n : 0;
}

/* A user may ask for any number of cores to be stated: of those that are chosen no more than the
 * job has slots here, those that it has first, then such as nobody has. */
static void keep_to_slots(const struct job *job, size_t slots, struct sets *s)
{
    const struct jobs *j = job->jobs;
    size_t stated = count(j, s->chosen), has = count(j, s->own);
    size_t more = slots > has ? slots - has : 0;
    if (slots == 0 || stated <= slots)
        return;
    for (size_t c = 0; c < j->cores.n; c++) {
        s->other[c] = s->chosen[c] && !s->own[c];
        s->some[c] = s->other[c] && s->free[c];
    }
    if (choose_cores(&j->cores, s->some, more, s->chosen) < 0)
        (void)choose_cores(&j->cores, s->other, more, s->chosen);
    for (size_t c = 0; c < j->cores.n; c++)
        s->chosen[c] |= s->own[c];
    if (more > 0) /* and not each time that it asks */
        log_note("job %s: its manager states %zu cores, and it has %zu slot%s here: it gets as "
                 "many of them",
                 job->name, stated, slots, plural(slots));
}

int jobs_add_task(struct job *job, const struct evidence *e, struct error *err)
{
    struct jobs *j = job->jobs;
    AUTO_SETS struct sets s = {0};
    if (job->cores.how != GRANT_CORES_MANAGER || !e->binding[0] || !can_choose(j))
        return 0;
    if (find_sets(j, job, &s) < 0)
        return error_errno(err, errno, "read which cores there are for jobs");
    if (find_stated(j, job, e->binding, &s) == 0)
        return 0;
    for (size_t c = 0; c < j->cores.n; c++)
        s.chosen[c] |= s.own[c];
    keep_to_slots(job, e->cores, &s);
    if (count(j, s.chosen) == count(j, s.own))
        return 0;
    make_room(j, job, &s);
    return change(job, GRANT_CORES_MANAGER, count(j, s.chosen), s.chosen, err);
}

/* ---- a new job ------------------------------------------------------------------------------- */

static int too_few(const struct job *job, size_t want, const struct sets *s, struct error *err)
{
    const struct jobs *j = job->jobs;
    size_t left = count(j, s->free), all = count(j, s->pool);
    return error_set(err, ENOSPC,
                     "job %s is to have %zu core%s of its own, and of the %zu for jobs "
                     "here %zu %s free%s",
                     job->name, want, plural(want), all, left, left == 1 ? "is" : "are",
                     j->conf->node_rounding ? " in NUMA nodes that no job is in" : "");
}

/* Others have to be waited for, or shared with. */
static int choose_shared(struct job *job, size_t want, const struct sets *s, struct error *err)
{
    struct error why;
    too_few(job, want, s, &why);
    if (job->jobs->conf->cores == CORES_EXCLUSIVE) {
        *err = why;
        return -1;
    }
    if (want > 0)
        log_note("%s: it has all of them, as others may", why.text);
    return set_cores(job, GRANT_CORES_SHARED, want, s->pool);
}

static int choose(struct job *job, const struct evidence *e, struct sets *s, struct error *err)
{
    struct jobs *j = job->jobs;
    size_t want = e->cores;
    if (find_stated(j, job, e->binding, s) > 0) {
        keep_to_slots(job, want, s);
        make_room(j, job, s);
        return set_cores(job, GRANT_CORES_MANAGER, count(j, s->chosen), s->chosen);
    }
    if (want == 0 && j->conf->cores == CORES_EXCLUSIVE)
        want = 1;
    if (want == 0 && idset_count(&j->conf->system_cpus) == 0)
        return 0;
    if (want == 0 || choose_free(j, want, s) < 0)
        return choose_shared(job, want, s, err);
    size_t more = count(j, s->chosen) - want;
    if (more > 0)
        log_note("job %s: %zu core%s beyond its %zu, as it has whole NUMA nodes", job->name, more,
                 plural(more), want);
    return set_cores(job, GRANT_CORES_CHOSEN, want, s->chosen);
}

int cores_choose(struct job *job, const struct evidence *e, struct error *err)
{
    AUTO_SETS struct sets s = {0};
    if (!can_choose(job->jobs))
        return 0;
    if (find_sets(job->jobs, NULL, &s) < 0)
        return error_errno(err, errno, "read which cores there are for jobs");
    if (count(job->jobs, s.pool) > 0)
        return choose(job, e, &s, err);
    log_warn("all cores that jobs could have are named in system_cpus: job %s may use all",
             job->name);
    return 0;
}

int cores_text(const struct job *job, char *buf, size_t n)
{
    AUTO_FREE char *text =
        job->cores.how == GRANT_CORES_ALL ? NULL : idset_format(&job->cores.cpus);
    return (size_t)snprintf(buf, n, "%s", text ? text : "") < n ? 0 : -1;
}

int cores_hold(struct job *job, int code, struct error *err)
{
    struct error why;
    if (job->cores.how == GRANT_CORES_ALL)
        return 0;
    if (code)
        error_errno(&why, code, "give it its hardware threads");
    else if (check_held(job, &job->cores.cpus, &why) == 0)
        return 0;
    error_context(&why, "hold job %s to its cores by cgroup '%s/%s'", job->name,
                  job->jobs->ground->part[job->jobs->cores_part].path, job->dir);
    if (job->jobs->conf->cores == CORES_EXCLUSIVE) {
        *err = why;
        return -1;
    }
    log_warn("%s; it may use all", why.text);
    idset_free(&job->cores.cpus);
    job->cores.how = GRANT_CORES_ALL;
    return 0;
}

void cores_note(const struct job *job)
{
    if (job->cores.how != GRANT_CORES_ALL)
        take_note(job);
}

/* ---- after a restart ------------------------------------------------------------------------- */

static enum grant_cores parse_note(const char *text, unsigned *ret_n)
{
    size_t len = strcspn(text, " ");
    *ret_n = (unsigned)strtoul(text + len, NULL, 10);
    for (unsigned how = 0; how < HOW_WORDS; how++)
        if (strlen(how_words[how]) == len && !strncmp(how_words[how], text, len))
            return how;
    return GRANT_CORES_ALL;
}

/* Without a note: who is held to fewer cores than jobs can have has them for itself. */
static void go_by_cpuset(struct job *job)
{
    AUTO_SETS struct sets s = {0};
    AUTO(idset_free) struct idset has = {0};
    size_t n = 0;
    if (at_read_cpus(cores_at(job), &has) == 0 && find_sets(job->jobs, job, &s) == 0) {
        host_cores_of_threads(&job->jobs->cores, &has, s.own);
        n = count(job->jobs, s.own);
    }
    if (n > 0 && n < count(job->jobs, s.pool))
        record(job, GRANT_CORES_CHOSEN, n, &has);
}

void cores_read(struct job *job)
{
    char text[64];
    if (job->jobs->cores_part < 0)
        return;
    if (jobs_read_note(job->jobs, job, note, text, sizeof(text)) <= 0) {
        go_by_cpuset(job);
        return;
    }
    job->cores.how = parse_note(text, &job->cores.n);
    if (job->cores.how != GRANT_CORES_ALL && at_read_cpus(cores_at(job), &job->cores.cpus) < 0)
        log_warn("read which cores job %s has: %s", job->name, strerror(errno));
}

/* ---- other numbers --------------------------------------------------------------------------- */

/* Those that it has and more, in the same nodes where there are; or fewer of them. */
static int resize(const struct jobs *j, size_t n, struct sets *s)
{
    size_t has = count(j, s->own), more = n - has;
    if (n <= has)
        return choose_cores(&j->cores, s->own, n, s->chosen);
    for (size_t c = 0; c < j->cores.n; c++) {
        s->free[c] &= !s->own[c];
        s->some[c] = 0;
        for (size_t k = 0; s->free[c] && k < j->cores.n; k++)
            s->some[c] |=
                s->own[k] && j->cores.core[k].group[NEAR_NODE] == j->cores.core[c].group[NEAR_NODE];
    }
    if (choose_cores(&j->cores, s->some, more, s->chosen) < 0 &&
        choose_cores(&j->cores, s->free, more, s->chosen) < 0)
        return -1;
    for (size_t c = 0; c < j->cores.n; c++)
        s->chosen[c] |= s->own[c];
    return 0;
}

int jobs_set_cores(struct jobs *j, struct job *job, unsigned n, struct error *err)
{
    AUTO_SETS struct sets s = {0};
    if (!can_choose(j))
        return error_set(err, ENOTSUP, "choose cores for job %s: %s", job->name,
                         j->cores_part < 0 ? "jobs have no cpusets on this host"
                                           : "the configuration says cores = off");
    loans_forget_cores(job);
    if (find_sets(j, job, &s) < 0)
        return error_errno(err, errno, "read which cores there are for jobs");
    if (n == 0)
        return change(job, GRANT_CORES_SHARED, 0, s.pool, err);
    if (j->conf->node_rounding)
        host_cores_keep_whole_nodes(&j->cores, s.pool, s.free);
    for (size_t c = 0; c < j->cores.n; c++)
        s.own[c] &= s.free[c];
    if (resize(j, n, &s) < 0) {
        find_free(j, job, NULL, &s);
        return too_few(job, n, &s, err);
    }
    if (j->conf->node_rounding)
        host_cores_complete_nodes(&j->cores, s.pool, s.chosen);
    return change(job, GRANT_CORES_CHOSEN, n, s.chosen, err);
}

/* ---- while it is suspended ------------------------------------------------------------------- */

/* A core stays if the job has other threads of it: a process may run on these. The memory nodes
 * stay. */
int cores_lend(struct job *job, struct idset *cpus, struct error *err)
{
    const struct jobs *j = job->jobs;
    AUTO_SETS struct sets s = {0};
    AUTO(idset_free) struct idset kept = {0};
    if (!is_held(job))
        return error_set(err, ENOTSUP, "job %s has no cores of its own", job->name);
    if (find_sets(j, job, &s) < 0)
        return error_errno(err, errno, "read which cores job %s has", job->name);
    idset_copy(&kept, &job->cores.cpus);
    idset_subtract(&kept, cpus);
    host_cores_of_threads(&j->cores, &kept, s.chosen);
    int rc = count(j, s.chosen) > 0 ? 0 : choose_cores(&j->cores, s.own, 1, s.chosen);
    if (rc < 0 || threads_of(j, s.chosen, &kept) < 0)
        return error_errno(err, errno, "choose the cores that job %s keeps", job->name);
    if (give_cpus(job, &kept, err) < 0)
        return -1;
    idset_free(cpus);
    *cpus = job->cores.cpus;
    idset_subtract(cpus, &kept);
    job->cores.cpus = kept;
    kept = (struct idset){0};
    return 0;
}

int cores_take_back(struct job *job, const struct idset *cpus, struct error *err)
{
    struct jobs *j = job->jobs;
    AUTO_SETS struct sets s = {0};
    if (!is_held(job) || idset_count(cpus) == 0)
        return 0;
    if (find_sets(j, job, &s) < 0)
        return error_errno(err, errno, "read which cores there are for jobs");
    host_cores_of_threads(&j->cores, cpus, s.chosen);
    size_t n = count(j, s.chosen) + count(j, s.own), busy = 0;
    for (size_t c = 0; c < j->cores.n; c++) {
        busy += s.chosen[c] && !s.free[c];
        s.chosen[c] |= s.own[c];
    }
    if (job->cores.how == GRANT_CORES_MANAGER)
        make_room(j, job, &s);
    else if (busy && resize(j, n, &s) < 0)
        return change_quietly(job, GRANT_CORES_SHARED, job->cores.n, s.pool, err);
    return change_quietly(job, job->cores.how, job->cores.n, s.chosen, err);
}

void cores_have_alone(struct job *job)
{
    struct jobs *j = job->jobs;
    AUTO_SETS struct sets s = {0};
    struct error e;
    if (job->cores.how == GRANT_CORES_SHARED && job->cores.n > 0 && find_sets(j, job, &s) == 0 &&
        choose_free(j, job->cores.n, &s) == 0 &&
        change(job, GRANT_CORES_CHOSEN, job->cores.n, s.chosen, &e) < 0)
        log_error("%s", e.text);
}

/* ---- telling --------------------------------------------------------------------------------- */

/* As much of a list as there is room for. */
static void put_list(const char *list, char *buf, size_t size)
{
    size_t len = strlen(list);
    snprintf(buf, size, "%s", list);
    if (len < size)
        return;
    char *comma = strrchr(buf, ',');
    while (comma && (size_t)(comma - buf) + sizeof("...") > size) {
        *comma = 0;
        comma = strrchr(buf, ',');
    }
    strcpy(comma ? comma : buf, "...");
}

void cores_describe(const struct job *job, struct grant_answer *ret)
{
    AUTO(idset_free) struct idset has = {0};
    ret->cores_how = job->cores.how;
    ret->cores = job->cores.n;
    if (job->cores.how != GRANT_CORES_ALL && at_read_cpus(cores_at(job), &has) == 0) {
        AUTO_FREE char *text = idset_format(&has);
        AUTO_FREE unsigned char *set = must(calloc(1, job->jobs->cores.n + 1));
        put_list(text, ret->cpus, sizeof(ret->cpus));
        if (job->cores.how == GRANT_CORES_CHOSEN) {
            host_cores_of_threads(&job->jobs->cores, &has, set);
            size_t n = count(job->jobs, set);
            ret->cores_beyond = n > job->cores.n ? (uint32_t)n - job->cores.n : 0;
        }
    }
}

int jobs_count_cores(const struct jobs *j, uint32_t *ret_total, uint32_t *ret_free)
{
    AUTO_SETS struct sets s = {0};
    if (!can_choose(j) || find_sets(j, NULL, &s) < 0)
        return -1;
    *ret_total = (uint32_t)count(j, s.pool);
    *ret_free = (uint32_t)count(j, s.free);
    return 0;
}
