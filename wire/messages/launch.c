/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.c - checks incoming messages for what receivers rely on, not for whether they are wise */
#include "wire/messages/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/words.h"
#include "wire/messages/placements.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"
#include "wire/tunables.h"

/* ---- the step's numbers ---- */

/* The step's properties that are one number: the message's field and the step's. A new one is a
 * line here, a member of struct step and a field of Launch; and in judge_numbers() its range, if it
 * has one. */
#define STEP_NUMBERS(X)                                                                            \
    X(nranks, nranks)                                                                              \
    X(universe, universe)                                                                          \
    X(oversubscribed, oversubscribed)                                                              \
    X(overlap, overlap)                                                                            \
    X(slurm_variables, slurm_variables)                                                            \
    X(tracking_set, containment.tracking_set)                                                      \
    X(tracking, containment.tracking)                                                              \
    X(need_memory, containment.memory)                                                             \
    X(need_cpuset, containment.cpuset)                                                             \
    X(need_pids, containment.pids)                                                                 \
    X(need_devices, containment.devices)                                                           \
    X(oom_kills_one, containment.oom_kills_one)                                                    \
    X(cgroup_version, containment.cgroup_version)                                                  \
    X(ignore_systemd, containment.ignore_systemd)                                                  \
    X(cgroup_automount, containment.automount)                                                     \
    X(pmi, pmi)                                                                                    \
    X(pmi_is_expected, pmi_is_expected)                                                            \
    X(stdin_target, stdin_target)                                                                  \
    X(stdin_rank, stdin_rank)                                                                      \
    X(stdin_slow, stdin_slow)                                                                      \
    X(umask, umask)                                                                                \
    X(nice, nice)                                                                                  \
    X(kill_grace, kill_grace)                                                                      \
    X(sample_period, sample_period)                                                                \
    X(stuck_time, stuck_time)                                                                      \
    X(stop_point, stop_point)                                                                      \
    X(passed_signals, passed_signals)

static void numbers_pack(const struct step *s, Mprun__Launch *m)
{
#define PACK(field, own) m->field = s->own;
    STEP_NUMBERS(PACK)
#undef PACK
}

static void numbers_unpack(const Mprun__Launch *m, struct step *s)
{
#define UNPACK(field, own) s->own = m->field;
    STEP_NUMBERS(UNPACK)
#undef UNPACK
}

static int judge_numbers(struct step *s, struct error *err)
{
    if (s->nranks > LAUNCH_RANKS_MAX)
        return error_set(err, EPROTO, "%u ranks, more than %d", s->nranks, LAUNCH_RANKS_MAX);
    if ((unsigned)s->containment.tracking > TRACK_TREE ||
        (unsigned)s->containment.cgroup_version > 2 || (unsigned)s->stdin_target > STDIN_FILE ||
        (unsigned)s->stop_point > STOP_IN_INIT)
        return error_set(err, EPROTO, "a policy that this version does not know");
    s->pmi &= PMI_KIND_PMIX | PMI_KIND_PMI1 | PMI_KIND_PMI2;
    s->umask &= 0777;
    s->kill_grace = seconds_unpack(s->kill_grace);
    s->stuck_time = seconds_unpack(s->stuck_time);
    s->sample_period = seconds_unpack(s->sample_period);
    if (s->sample_period > 0 && s->sample_period < SAMPLE_PERIOD_MIN_SECONDS)
        s->sample_period = SAMPLE_PERIOD_MIN_SECONDS;
    return 0;
}

/* ---- bindings -------------------------------------------------------------------------------- */

#define BINDING_NUMBERS(X)                                                                         \
    X(policy)                                                                                      \
    X(cores)                                                                                       \
    X(to)                                                                                          \
    X(map)                                                                                         \
    X(ppr)                                                                                         \
    X(in_turn)                                                                                     \
    X(threads)                                                                                     \
    X(by_threads)                                                                                  \
    X(set_ranks)                                                                                   \
    X(set_cores)                                                                                   \
    X(gpus)                                                                                        \
    X(gpu_sharers)                                                                                 \
    X(set_turn)                                                                                    \
    X(overload)                                                                                    \
    X(if_supported)                                                                                \
    X(list_kind)                                                                                   \
    X(memory)

static void binding_pack(const struct binding_request *b, Mprun__Binding *m)
{
    mprun__binding__init(m);
#define PACK(field) m->field = b->field;
    BINDING_NUMBERS(PACK)
#undef PACK
    m->list = (char *)(uintptr_t)b->list;
    m->memory_nodes = (char *)(uintptr_t)b->memory_nodes;
}

static int binding_unpack(const Mprun__Binding *m, struct binding_request *ret, struct error *err)
{
    if (!m)
        return error_set(err, EPROTO, "a step without a binding");
    if (m->policy > BIND_TO || m->to >= LEVEL_COUNT || m->map >= LEVEL_COUNT ||
        m->list_kind > CPU_LIST_EACH || m->memory > MEMORY_NODES ||
        m->gpu_sharers > GPU_SHARERS_MAX || m->set_ranks > LAUNCH_RANKS_MAX ||
        (m->set_ranks && !m->set_cores))
        return error_set(err, EPROTO, "a binding that this version does not know");
    if (strlen(m->list) >= sizeof(ret->list) ||
        strlen(m->memory_nodes) >= sizeof(ret->memory_nodes))
        return error_set(err, EPROTO, "a list of hardware threads or nodes that is too long");
#define UNPACK(field) ret->field = m->field;
    BINDING_NUMBERS(UNPACK)
#undef UNPACK
    strcpy(ret->list, m->list);
    strcpy(ret->memory_nodes, m->memory_nodes);
    return 0;
}

/* ---- LAUNCH, out ----------------------------------------------------------------------------- */

/* Returns NULL when there are none. */
static ProtobufCBinaryData *strings_pack(char *const *s, size_t *ret_n)
{
    size_t n = words_count(s);
    ProtobufCBinaryData *b = n ? must(malloc(n * sizeof(*b))) : NULL;
    *ret_n = n;
    for (size_t i = 0; i < n; i++)
        b[i] = bytes_of(s[i]);
    return b;
}

void packed_apps_free(struct packed_apps *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->list[i]->argv);
        free(p->list[i]->env);
        free(p->list[i]->given_env);
    }
    free(p->list);
}

void apps_pack(const struct step *s, bool with_env, struct packed_apps *ret)
{
    size_t n = s->napps;
    size_t size = sizeof(*ret->list) + sizeof(**ret->list) + sizeof(Mprun__Binding) +
                  sizeof(struct packed_limits);
    *ret = (struct packed_apps){.list = must(calloc(n + 1, size))};
    Mprun__App *messages = (Mprun__App *)(ret->list + n);
    struct packed_limits *limits = (struct packed_limits *)(messages + n);
    Mprun__Binding *bindings = (Mprun__Binding *)(limits + n);
    for (size_t i = 0; i < n; i++) {
        Mprun__App *m = ret->list[ret->n++] = messages + i;
        mprun__app__init(m);
        if (s->apps[i].bind) {
            binding_pack(s->apps[i].bind, &bindings[i]);
            m->binding = &bindings[i];
        }
        if (s->apps[i].limits) {
            limits_pack(s->apps[i].limits, &limits[i]);
            m->rank_limits = &limits[i].message;
        }
        m->argv = strings_pack(s->apps[i].argv, &m->n_argv);
        m->env = strings_pack(with_env ? s->apps[i].envp : NULL, &m->n_env);
        m->given_env = strings_pack(s->apps[i].given_env, &m->n_given_env);
        m->directory = bytes_of(s->apps[i].directory);
        m->count = rank_set_count(&s->apps[i].ranks);
    }
}

uint8_t *launch_pack(const struct launch *l, size_t *ret_n)
{
    Mprun__Window window;
    Mprun__RankName parent;
    Mprun__Launch m = MPRUN__LAUNCH__INIT;
    Mprun__Binding binding;
    AUTO(packed_apps_free) struct packed_apps apps;
    struct packed_limits rank_limits, host_limits;
    AUTO(packed_placements_free) struct packed_placements hosts;
    uint64_t soft[RLIM_NLIMITS];
    AUTO_FREE char *wrapped = idset_format(&l->step.wrapper.ranks);

    placements_pack(l->hosts, l->nhosts, &hosts);
    apps_pack(&l->step, true, &apps);
    numbers_pack(&l->step, &m);
    m.step_id = (char *)(uintptr_t)l->step.id;
    m.nspace = (char *)(uintptr_t)l->step.nspace;
    window_pack(&l->step.terminal_size, &window);
    m.terminal = l->step.terminal ? &window : NULL;
    m.n_apps = apps.n;
    m.apps = apps.list;
    m.n_hosts = hosts.n;
    m.hosts = hosts.list;
    binding_pack(&l->step.bind, &binding);
    m.binding = &binding;
    m.world = l->world;
    rank_name_pack(l->parent, &parent);
    m.parent = l->has_parent ? &parent : NULL;
    m.preput = (ProtobufCBinaryData){.len = l->npreput, .data = l->preput};
    m.report_bindings = l->report_bindings;
    m.same_machine = l->same_machine;
    limits_pack(&l->step.rank_limits, &rank_limits);
    limits_pack(&l->step.host_limits, &host_limits);
    m.rank_limits = &rank_limits.message;
    m.host_limits = &host_limits.message;
    for (int r = 0; r < RLIM_NLIMITS; r++)
        soft[r] = l->step.soft_limits[r].rlim_cur;
    m.cgroup_mount = (char *)(uintptr_t)l->step.containment.mount;
    m.gpu_env = (char *)(uintptr_t)l->step.gpu_env;
    m.host_env = strings_pack(l->step.host_env, &m.n_host_env);
    m.wrapper = strings_pack(l->step.wrapper.argv, &m.n_wrapper);
    m.wrapped_ranks = wrapped;
    m.stdin_file = bytes_of(l->step.stdin_file);
    m.n_soft_limits = RLIM_NLIMITS;
    m.soft_limits = soft;
    *ret_n = mprun__launch__get_packed_size(&m);
    uint8_t *packed = must(malloc(*ret_n + 1));
    mprun__launch__pack(&m, packed);
    free(m.host_env);
    free(m.wrapper);
    return packed;
}

/* ---- LAUNCH, in ------------------------------------------------------------------------------ */

void launch_free(struct launch *l)
{
    step_free(&l->step);
    placements_free(l->hosts, l->nhosts);
    idset_free(&l->granted);
    free(l->granted_cores);
    free(l->slots);
    free(l->preput);
    memset(l, 0, sizeof(*l));
}

static int app_unpack(const Mprun__App *m, uint32_t world, uint32_t first, struct app *ret,
                      struct error *err)
{
    if (m->n_argv == 0)
        return error_set(err, EPROTO, "a program without arguments");
    if (m->count == 0)
        return error_set(err, EPROTO, "a program without ranks");
    ret->argv = strings_unpack(m->argv, m->n_argv);
    ret->envp = strings_unpack(m->env, m->n_env);
    ret->given_env = strings_unpack(m->given_env, m->n_given_env);
    ret->directory = bytes_dup(&m->directory);
    if (!ret->argv || !ret->envp || !ret->given_env || !ret->directory)
        return error_set(err, EPROTO, "a program with a NUL byte in a string");
    if (rank_set_add_block(&ret->ranks, world, first, m->count) < 0)
        return error_set(err, EPROTO, "a program whose ranks cannot be");
    if (m->rank_limits) {
        ret->limits = must(calloc(1, sizeof(*ret->limits)));
        limits_unpack(m->rank_limits, ret->limits);
    }
    if (!m->binding)
        return 0;
    ret->bind = must(calloc(1, sizeof(*ret->bind)));
    return binding_unpack(m->binding, ret->bind, err);
}

static int apps_unpack(const Mprun__Launch *m, struct step *ret, struct error *err)
{
    uint64_t next = 0;
    ret->apps = must(calloc(m->n_apps + 1, sizeof(*ret->apps)));
    for (size_t i = 0; i < m->n_apps && next <= m->nranks; i++) {
        ret->napps = i + 1;
        if (app_unpack(m->apps[i], m->world, (uint32_t)next, &ret->apps[i], err) < 0)
            return -1;
        next += m->apps[i]->count;
    }
    if (next != m->nranks || next == 0)
        return error_set(err, EPROTO, "programs that make up another number of ranks than %u",
                         m->nranks);
    return 0;
}

/* Copies this host's grant out of the placement that it is in. */
static int grant_unpack(const Mprun__Launch *m, struct launch *ret, struct error *err)
{
    const Mprun__Placement *own;
    uint64_t next = 0;
    size_t i = 0;
    if (ret->host_index >= ret->nhosts)
        return error_set(err, EPROTO, "no place for host %u of %zu", ret->host_index, ret->nhosts);
    do {
        own = m->hosts[i++];
        next += 1 + (uint64_t)own->following;
    } while (next <= ret->host_index);
    ret->granted_all = own->granted_all;
    if (idset_parse(own->granted_threads, &ret->granted, err) < 0)
        return -1;
    if (own->granted_cores[0])
        ret->granted_cores = must(strdup(own->granted_cores));
    if (own->slots[0])
        ret->slots = must(strdup(own->slots));
    ret->step.bind.slots = ret->slots;
    return 0;
}

static int hosts_unpack(const Mprun__Launch *m, uint32_t host_index, struct launch *ret,
                        struct error *err)
{
    AUTO(rank_map_free) struct rank_map map = {0};
    rank_map_create(&map, m->world, m->nranks);
    ret->host_index = host_index;
    return placements_unpack(m->hosts, m->n_hosts, &map, &ret->hosts, &ret->nhosts, err) < 0
               ? -1
               : grant_unpack(m, ret, err);
}

/* Returns whether the name can be part of a path. */
static int plain_name(const char *s, size_t max)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    return n > 0 && n < max && s[n] == 0;
}

static int step_unpack(const Mprun__Launch *m, struct step *s, struct error *err)
{
    if (!plain_name(m->step_id, sizeof(s->id)) || !plain_name(m->nspace, sizeof(s->nspace)))
        return error_set(err, EPROTO, "a step whose name has other characters than allowed");
    numbers_unpack(m, s);
    if (judge_numbers(s, err) < 0)
        return -1;
    strcpy(s->id, m->step_id);
    strcpy(s->nspace, m->nspace);
    limits_unpack(m->rank_limits, &s->rank_limits);
    limits_unpack(m->host_limits, &s->host_limits);
    s->terminal = m->terminal != NULL;
    if (m->terminal)
        s->terminal_size = window_unpack(m->terminal);
    for (int r = 0; r < RLIM_NLIMITS; r++)
        s->soft_limits[r] = (struct rlimit){
            .rlim_cur = (size_t)r < m->n_soft_limits ? m->soft_limits[r] : RLIM_INFINITY,
            .rlim_max = RLIM_INFINITY, /* as it is on the host */
        };
    if (binding_unpack(m->binding, &s->bind, err) < 0)
        return -1;
    snprintf(s->gpu_env, sizeof(s->gpu_env), "%s", m->gpu_env);
    snprintf(s->containment.mount, sizeof(s->containment.mount), "%s", m->cgroup_mount);
    if (!(s->stdin_file = bytes_dup(&m->stdin_file)))
        return error_set(err, EPROTO, "the name of a file with a NUL byte");
    if (m->n_host_env && !(s->host_env = strings_unpack(m->host_env, m->n_host_env)))
        return error_set(err, EPROTO, "a variable's name with a NUL byte");
    if (m->n_wrapper && !(s->wrapper.argv = strings_unpack(m->wrapper, m->n_wrapper)))
        return error_set(err, EPROTO, "a wrapper with a NUL byte");
    return idset_parse(m->wrapped_ranks, &s->wrapper.ranks, err);
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
    ret->has_parent = m->parent != NULL;
    ret->parent = rank_name_unpack(m->parent);
    ret->preput = take_ptr(m->preput.data); /* of the allocator of libc, as all of m */
    ret->npreput = m->preput.len;
    ret->report_bindings = m->report_bindings;
    ret->same_machine = m->same_machine;
    mprun__launch__free_unpacked(m, NULL);
    if (r < 0) {
        error_context(err, "protocol error: LAUNCH");
        launch_free(ret);
    }
    return r;
}
