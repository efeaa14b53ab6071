/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.c - what comes in is checked for what its receivers rely on, not for whether it is wise */
#include "wire/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/name-run.h"

#define SAMPLE_PERIOD_MIN 0.01  /* seconds */
enum { NAME_MAX_LENGTH = 300 }; /* of a host whose name is made; others may be longer */

/* ---- small ones ------------------------------------------------------------------------------ */

char *bytes_dup(const ProtobufCBinaryData *b)
{
    if (b->len && memchr(b->data, 0, b->len))
        return NULL;
    char *s = malloc(b->len + 1);
    if (!s)
        return NULL;
    if (b->len)
        memcpy(s, b->data, b->len);
    s[b->len] = 0;
    return s;
}

ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){.len = text ? strlen(text) : 0,
                                 .data = (uint8_t *)(uintptr_t)text};
}

void rank_name_pack(struct rank_name r, Mprun__RankName *ret)
{
    mprun__rank_name__init(ret);
    ret->world = r.world;
    ret->rank = r.rank;
    ret->incarnation = r.incarnation;
}

struct rank_name rank_name_unpack(const Mprun__RankName *m)
{
    if (!m)
        return (struct rank_name){0};
    return (struct rank_name){m->world, m->rank, m->incarnation};
}

void usage_pack(const struct usage *u, struct packed_usage *ret)
{
    mprun__usage__init(&ret->message);
    ret->message.known = u->known;
    ret->message.value = ret->values;
    for (int f = 0; f < USAGE_FIELD_COUNT; f++)
        if (usage_has(u, f))
            ret->values[ret->message.n_value++] = u->value[f];
}

void usage_unpack(const Mprun__Usage *m, struct usage *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!m)
        return;
    size_t at = 0;
    for (int f = 0; f < USAGE_FIELD_COUNT && at < m->n_value; f++)
        if ((m->known >> f) & 1)
            usage_set(ret, f, m->value[at++]);
}

static Mprun__Limit *limit_pack(const struct limit *l, Mprun__Limit *ret)
{
    if (!l->set)
        return NULL;
    mprun__limit__init(ret);
    ret->value = l->value;
    ret->held_by = l->held_by;
    return ret;
}

void limits_pack(const struct limits *l, struct packed_limits *ret)
{
    mprun__limits__init(&ret->message);
    ret->message.memory = limit_pack(&l->memory, &ret->memory);
    ret->message.swap = limit_pack(&l->swap, &ret->swap);
    ret->message.pids = limit_pack(&l->pids, &ret->pids);
}

static void limit_unpack(const Mprun__Limit *m, struct limit *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!m)
        return;
    ret->set = 1;
    ret->value = m->value;
    ret->held_by = m->held_by <= HELD_BY_CGROUP ? (enum limit_holder)m->held_by : HELD_BY_NONE;
}

void limits_unpack(const Mprun__Limits *m, struct limits *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!m)
        return;
    limit_unpack(m->memory, &ret->memory);
    limit_unpack(m->swap, &ret->swap);
    limit_unpack(m->pids, &ret->pids);
}

double seconds_unpack(double s)
{
    const double most = 1e8;
    if (!(s > 0)) /* NaN too */
        return 0;
    return s < most ? s : most;
}

/* ---- LAUNCH, out ----------------------------------------------------------------------------- */

static size_t strings_count(char *const *s)
{
    size_t n = 0;
    while (s && s[n])
        n++;
    return n;
}

/* NULL only when memory is out or there are none. */
static ProtobufCBinaryData *strings_pack(char *const *s, size_t *ret_n)
{
    size_t n = strings_count(s);
    ProtobufCBinaryData *b = n ? malloc(n * sizeof(*b)) : NULL;
    *ret_n = b ? n : 0;
    for (size_t i = 0; i < *ret_n; i++)
        b[i] = bytes_of(s[i]);
    return b;
}

struct packed_apps {
    Mprun__App *apps;
    Mprun__App **pointers;
    size_t n;
};

static void apps_free(struct packed_apps *p)
{
    for (size_t i = 0; p->apps && i < p->n; i++) {
        free(p->apps[i].argv);
        free(p->apps[i].env);
        free(p->apps[i].given_env);
    }
    free(p->apps);
    free(p->pointers);
}

static void apps_pack(const struct step *s, struct packed_apps *ret)
{
    ret->n = s->napps;
    ret->apps = calloc(s->napps, sizeof(*ret->apps));
    ret->pointers = calloc(s->napps, sizeof(*ret->pointers));
    for (size_t i = 0; ret->apps && ret->pointers && i < s->napps; i++) {
        Mprun__App *m = &ret->apps[i];
        mprun__app__init(m);
        m->argv = strings_pack(s->apps[i].argv, &m->n_argv);
        m->env = strings_pack(s->apps[i].envp, &m->n_env);
        m->given_env = strings_pack(s->apps[i].given_env, &m->n_given_env);
        m->directory = bytes_of(s->apps[i].directory);
        m->first_rank = s->apps[i].first_rank;
        m->count = s->apps[i].count;
        ret->pointers[i] = m;
    }
}

void window_pack(const struct tty_size *size, Mprun__Window *ret)
{
    *ret = (Mprun__Window)MPRUN__WINDOW__INIT;
    ret->rows = size->rows;
    ret->columns = size->columns;
}

struct tty_size window_unpack(const Mprun__Window *m)
{
    return (struct tty_size){.rows = m->rows & 0xffff, .columns = m->columns & 0xffff};
}

static void step_pack(const struct step *s, Mprun__Launch *m)
{
    m->step_id = (char *)(uintptr_t)s->id;
    m->nspace = (char *)(uintptr_t)s->nspace;
    m->nranks = s->nranks;
    m->oversubscribed = s->oversubscribed;
    m->bind = s->bind.policy;
    m->rank_cores = s->bind.cores;
    m->overlap = s->overlap;
    m->tracking_set = s->containment.tracking_set;
    m->tracking = s->containment.tracking;
    m->need_memory = s->containment.memory;
    m->need_cpuset = s->containment.cpuset;
    m->need_pids = s->containment.pids;
    m->need_devices = s->containment.devices;
    m->pmi = s->pmi;
    m->stdin_target = s->stdin_target;
    m->stdin_rank = s->stdin_rank;
    m->stdin_slow = s->stdin_slow;
    m->umask = s->umask;
    m->nice = s->nice;
    m->kill_grace = s->kill_grace;
    m->sample_period = s->sample_period;
}

static void placements_free(Mprun__Placement *hosts, size_t n)
{
    for (size_t i = 0; hosts && i < n; i++)
        if (!hosts[i].granted_all)
            free(hosts[i].granted_threads);
    free(hosts);
}

/* Is q, k places behind p, what p's run has there? Grants are compared as they are written. */
static int follows(const struct placement *p, const char *granted, const struct placement *q,
                   uint32_t k)
{
    char name[NAME_MAX_LENGTH];
    const char *cores = p->granted_cores ? p->granted_cores : "";
    if (q->count != p->count || q->share != p->share || !q->granted != !granted ||
        strcmp(q->granted_cores ? q->granted_cores : "", cores) != 0 ||
        name_run_at(p->host, strlen(p->host), k, name, sizeof(name)) < 0 ||
        strcmp(name, q->host) != 0)
        return 0;
    AUTO_FREE char *own = granted ? idset_format(q->granted) : NULL;
    return !granted || (own && strcmp(own, granted) == 0);
}

static void placement_pack(const struct placement *p, Mprun__Placement *ret)
{
    char *granted = p->granted ? idset_format(p->granted) : NULL;
    mprun__placement__init(ret);
    ret->host = bytes_of(p->host);
    ret->first_rank = p->first_rank;
    ret->count = p->count;
    ret->granted_all = !granted;
    ret->share = p->share;
    if (granted)
        ret->granted_threads = granted;
    if (p->granted_cores)
        ret->granted_cores = (char *)(uintptr_t)p->granted_cores;
}

/* Into room for all; how many it takes. */
static size_t placements_pack(const struct launch *l, Mprun__Placement *hosts,
                              Mprun__Placement **pointers)
{
    size_t n = 0;
    for (size_t i = 0; i < l->nhosts; n++) {
        const struct placement *first = &l->hosts[i];
        Mprun__Placement *m = pointers[n] = &hosts[n];
        placement_pack(first, m);
        for (i++; i < l->nhosts; i++, m->following++)
            if (!follows(first, m->granted_all ? NULL : m->granted_threads, &l->hosts[i],
                         m->following + 1))
                break;
    }
    return n;
}

uint8_t *launch_pack(const struct launch *l, size_t *ret_n)
{
    Mprun__Window window;
    Mprun__Launch m = MPRUN__LAUNCH__INIT;
    struct packed_apps apps = {0};
    struct packed_limits rank_limits, host_limits;
    uint64_t soft[RLIM_NLIMITS];
    AUTO_FREE Mprun__Placement **pointers = calloc(l->nhosts, sizeof(*pointers));
    Mprun__Placement *hosts = pointers ? calloc(l->nhosts, sizeof(*hosts)) : NULL;

    step_pack(&l->step, &m);
    window_pack(&l->step.terminal_size, &window);
    m.terminal = l->step.terminal ? &window : NULL;
    apps_pack(&l->step, &apps);
    m.n_apps = apps.apps && apps.pointers ? apps.n : 0;
    m.apps = apps.pointers;
    m.n_hosts = hosts ? placements_pack(l, hosts, pointers) : 0;
    m.hosts = pointers;
    m.world = l->world;
    m.report_bindings = l->report_bindings;
    m.same_machine = l->same_machine;
    limits_pack(&l->step.rank_limits, &rank_limits);
    limits_pack(&l->step.host_limits, &host_limits);
    m.rank_limits = &rank_limits.message;
    m.host_limits = &host_limits.message;
    for (int r = 0; r < RLIM_NLIMITS; r++)
        soft[r] = l->step.soft_limits[r].rlim_cur;
    m.host_env = strings_pack(l->step.host_env, &m.n_host_env);
    m.n_soft_limits = RLIM_NLIMITS;
    m.soft_limits = soft;
    *ret_n = mprun__launch__get_packed_size(&m);
    uint8_t *packed = malloc(*ret_n + 1);
    if (packed)
        mprun__launch__pack(&m, packed);
    free(m.host_env);
    apps_free(&apps);
    placements_free(hosts, m.n_hosts);
    return packed;
}

/* ---- LAUNCH, in ------------------------------------------------------------------------------ */

void launch_free(struct launch *l)
{
    step_free(&l->step);
    for (size_t i = 0; i < l->nhosts; i++)
        free(l->hosts[i].host);
    free(l->hosts);
    idset_free(&l->granted);
    free(l->granted_cores);
    memset(l, 0, sizeof(*l));
}

static char **strings_unpack(const ProtobufCBinaryData *b, size_t n)
{
    char **s = calloc(n + 1, sizeof(*s));
    for (size_t i = 0; s && i < n; i++)
        if (!(s[i] = bytes_dup(&b[i]))) {
            while (i > 0)
                free(s[--i]);
            free(s);
            return NULL;
        }
    return s;
}

static int app_unpack(const Mprun__App *m, uint32_t first, struct app *ret, struct error *err)
{
    if (m->n_argv == 0)
        return error_set(err, EPROTO, "a program without arguments");
    if (m->first_rank != first || m->count == 0)
        return error_set(err, EPROTO, "programs whose ranks do not follow each other");
    ret->argv = strings_unpack(m->argv, m->n_argv);
    ret->envp = strings_unpack(m->env, m->n_env);
    ret->given_env = strings_unpack(m->given_env, m->n_given_env);
    ret->directory = bytes_dup(&m->directory);
    ret->first_rank = first;
    ret->count = m->count;
    if (!ret->argv || !ret->envp || !ret->given_env || !ret->directory)
        return error_set(err, EPROTO, "a program with a NUL byte in a string, or no memory");
    return 0;
}

static int apps_unpack(const Mprun__Launch *m, struct step *ret, struct error *err)
{
    uint64_t next = 0;
    if (m->nranks > LAUNCH_RANKS_MAX)
        return error_set(err, EPROTO, "%u ranks, more than %d", m->nranks, LAUNCH_RANKS_MAX);
    ret->apps = calloc(m->n_apps + 1, sizeof(*ret->apps));
    if (!ret->apps)
        return error_errno(err, ENOMEM, "programs");
    for (size_t i = 0; i < m->n_apps; i++) {
        ret->napps = i + 1;
        if (app_unpack(m->apps[i], (uint32_t)next, &ret->apps[i], err) < 0)
            return -1;
        next += m->apps[i]->count;
        if (next > m->nranks)
            break;
    }
    if (next != m->nranks || next == 0)
        return error_set(err, EPROTO, "programs that make up another number of ranks than %u",
                         m->nranks);
    ret->nranks = m->nranks;
    return 0;
}

/* How many hosts there are; 0: more than ranks, which cannot be. */
static size_t hosts_count(const Mprun__Launch *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n_hosts; i++)
        n += 1 + (uint64_t)m->hosts[i]->following;
    return n <= (uint64_t)m->nranks + m->n_hosts ? (size_t)n : 0;
}

static char *name_in_run(const Mprun__Placement *m, uint32_t k)
{
    char name[NAME_MAX_LENGTH];
    if (k == 0)
        return bytes_dup(&m->host);
    if (!m->host.len || memchr(m->host.data, 0, m->host.len) ||
        name_run_at((const char *)m->host.data, m->host.len, k, name, sizeof(name)) < 0)
        return NULL;
    return strdup(name);
}

/* One host, or several whose names count up. */
static int placement_unpack(const Mprun__Placement *m, uint64_t *next, struct launch *ret,
                            struct error *err)
{
    for (uint32_t k = 0; k <= m->following; k++) {
        struct placement *p = &ret->hosts[ret->nhosts++];
        p->host = name_in_run(m, k);
        p->first_rank = m->first_rank + k * m->count;
        p->count = m->count;
        p->share = m->share;
        if (!p->host || p->first_rank != *next)
            return error_set(err, EPROTO, "hosts whose ranks do not follow each other");
        *next += p->count;
        if (ret->nhosts - 1 == ret->host_index) {
            ret->granted_all = m->granted_all;
            if (idset_parse(m->granted_threads, &ret->granted, err) < 0)
                return -1;
            if (m->granted_cores[0] && !(ret->granted_cores = strdup(m->granted_cores)))
                return error_errno(err, ENOMEM, "hosts");
        }
    }
    return 0;
}

static int hosts_unpack(const Mprun__Launch *m, uint32_t host_index, struct launch *ret,
                        struct error *err)
{
    uint64_t next = 0;
    size_t nhosts = hosts_count(m);
    if (host_index >= nhosts)
        return error_set(err, EPROTO, "no place for host %u of %zu", host_index, nhosts);
    ret->host_index = host_index;
    ret->hosts = calloc(nhosts, sizeof(*ret->hosts));
    if (!ret->hosts)
        return error_errno(err, ENOMEM, "hosts");
    for (size_t i = 0; i < m->n_hosts; i++)
        if (placement_unpack(m->hosts[i], &next, ret, err) < 0)
            return -1;
    if (next != m->nranks)
        return error_set(err, EPROTO, "hosts that hold another number of ranks than %u", m->nranks);
    return 0;
}

/* Names that become parts of paths. */
static int plain_name(const char *s, size_t max)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    return n > 0 && n < max && s[n] == 0;
}

static int step_unpack(const Mprun__Launch *m, struct step *s, struct error *err)
{
    if (!plain_name(m->step_id, sizeof(s->id)) || !plain_name(m->nspace, sizeof(s->nspace)))
        return error_set(err, EPROTO, "a step whose name has other characters than allowed");
    if (m->bind > BIND_CORE || m->tracking > TRACK_TREE || m->stdin_target > STDIN_ALL)
        return error_set(err, EPROTO, "a policy that this version does not know");
    strcpy(s->id, m->step_id);
    strcpy(s->nspace, m->nspace);
    s->oversubscribed = m->oversubscribed;
    s->bind = (struct binding_request){(enum bind_policy)m->bind, m->rank_cores};
    s->overlap = m->overlap;
    s->containment = (struct containment_request){
        .tracking_set = m->tracking_set,
        .tracking = (enum tracking)m->tracking,
        .memory = m->need_memory,
        .cpuset = m->need_cpuset,
        .pids = m->need_pids,
        .devices = m->need_devices,
    };
    limits_unpack(m->rank_limits, &s->rank_limits);
    limits_unpack(m->host_limits, &s->host_limits);
    s->pmi = m->pmi & (PMI_KIND_PMIX | PMI_KIND_PMI1 | PMI_KIND_PMI2);
    s->stdin_target = (enum stdin_target)m->stdin_target;
    s->stdin_rank = m->stdin_rank;
    s->stdin_slow = m->stdin_slow;
    s->terminal = m->terminal != NULL;
    if (m->terminal)
        s->terminal_size = window_unpack(m->terminal);
    s->umask = m->umask & 0777;
    s->nice = m->nice;
    s->kill_grace = seconds_unpack(m->kill_grace);
    s->sample_period = seconds_unpack(m->sample_period);
    if (s->sample_period > 0 && s->sample_period < SAMPLE_PERIOD_MIN)
        s->sample_period = SAMPLE_PERIOD_MIN;
    for (int r = 0; r < RLIM_NLIMITS; r++)
        s->soft_limits[r].rlim_cur =
            (size_t)r < m->n_soft_limits ? m->soft_limits[r] : RLIM_INFINITY;
    if (m->n_host_env && !(s->host_env = strings_unpack(m->host_env, m->n_host_env)))
        return error_set(err, EPROTO, "a variable's name with a NUL byte, or no memory");
    return 0;
}

int launch_unpack(const uint8_t *p, size_t n, uint32_t host_index, struct launch *ret,
                  struct error *err)
{
    memset(ret, 0, sizeof(*ret));
    Mprun__Launch *m = mprun__launch__unpack(NULL, n, p);
    if (!m)
        return error_set(err, EPROTO, "protocol error: LAUNCH cannot be read");
    int r = step_unpack(m, &ret->step, err);
    if (r == 0)
        r = apps_unpack(m, &ret->step, err);
    if (r == 0)
        r = hosts_unpack(m, host_index, ret, err);
    ret->world = m->world;
    ret->report_bindings = m->report_bindings;
    ret->same_machine = m->same_machine;
    mprun__launch__free_unpacked(m, NULL);
    if (r < 0) {
        error_context(err, "protocol error: LAUNCH");
        launch_free(ret);
    }
    return r;
}
