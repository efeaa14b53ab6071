/* SPDX-License-Identifier: BSD-3-Clause */
/* query.c - answers what a rank or a tool may ask about the step: its namespaces, their sizes and
 * processes, and what these use
 *
 * Only mprun knows all processes. So mppmi asks mprun, which asks the hosts; the questions go on
 * when mprun has answered.
 *
 * The library answers questions about itself. It keeps queries that it passes on until the answer.
 */
#include "pmix-server/pmix/requests.h"

#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"
#include "model/rank-end.h"
#include "pmix-server/pmix/infos.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"
#include "wire/messages/values.h"

/* Keys for what all ranks use, or with PMIX_QUERY_LOCAL_ONLY the ranks of this host: */
#define KEY_CPU       "mprun.usage.cpu"       /* seconds so far */
#define KEY_MEMORY    "mprun.usage.memory"    /* bytes, now */
#define KEY_PROCESSES "mprun.usage.processes" /* now */

struct query_item {
    struct bridge_item item;
    pmix_query_t *queries;
    size_t nqueries;
    size_t query, key; /* the next one */
    size_t wanted;     /* keys so far */
    pmix_info_cbfunc_t cbfunc;
    void *cbdata;
    struct infos answer; /* the library reads it until it calls query_answered */
};

static uint32_t job_size(const struct world *w)
{
    return w->nranks;
}

static uint32_t universe_size(const struct world *w)
{
    return world_universe(w);
}

static uint32_t number_of_nodes(const struct world *w)
{
    return (uint32_t)w->nnodes;
}

static uint32_t local_size(const struct world *w)
{
    return rank_set_count(world_local_ranks(w));
}

static const struct {
    const char *key;
    uint32_t (*of)(const struct world *w);
} numbers[] = {
    {PMIX_JOB_SIZE, job_size},
    {PMIX_UNIV_SIZE, universe_size},
    {PMIX_NUM_NODES, number_of_nodes},
    {PMIX_LOCAL_SIZE, local_size},
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

/* Appends a word to a list separated by commas. */
static void add_word(char **list, const char *word)
{
    char *longer = must(text_format("%s%s%s", *list ? *list : "", *list ? "," : "", word));
    free(*list);
    *list = longer;
}

static void add_namespaces(struct infos *to, const struct world *worlds)
{
    AUTO_FREE char *list = NULL;
    for (const struct world *w = worlds; w; w = w->next)
        add_word(&list, w->nspace);
    infos_string(to, PMIX_QUERY_NAMESPACES, list ? list : "");
}

/* Uses the program of each world's first ranks. */
static void add_namespace_infos(struct infos *to, const struct world *worlds)
{
    struct infos all = {.v = NULL};
    for (const struct world *w = worlds; w; w = w->next) {
        struct infos one = {.v = NULL};
        infos_string(&one, PMIX_NSPACE, w->nspace);
        infos_string(&one, PMIX_CMD_LINE, w->napps ? w->apps[0].program : "");
        infos_array(&all, PMIX_JOB_INFO_ARRAY, &one);
    }
    infos_array(to, PMIX_QUERY_NAMESPACE_INFO, &all);
}

static void add_keys(struct infos *to)
{
    AUTO_FREE char *list = NULL;
    add_word(&list, PMIX_QUERY_NAMESPACES
             "," PMIX_QUERY_NAMESPACE_INFO "," PMIX_QUERY_SUPPORTED_KEYS "," PMIX_QUERY_PROC_TABLE
             "," PMIX_QUERY_LOCAL_PROC_TABLE "," PMIX_QUERY_MEMORY_USAGE "," KEY_CPU "," KEY_MEMORY
             "," KEY_PROCESSES);
    for (size_t i = 0; i < NUMBERS; i++)
        add_word(&list, numbers[i].key);
    infos_string(to, PMIX_QUERY_SUPPORTED_KEYS, list);
}

/* w: the world in question; NULL: there is no such world. */
static void answer_key(struct infos *to, const char *key, const struct world *w,
                       const struct world *worlds)
{
    if (!strcmp(key, PMIX_QUERY_NAMESPACES))
        add_namespaces(to, worlds);
    else if (!strcmp(key, PMIX_QUERY_NAMESPACE_INFO))
        add_namespace_infos(to, worlds);
    else if (!strcmp(key, PMIX_QUERY_SUPPORTED_KEYS))
        add_keys(to);
    for (size_t i = 0; w && i < NUMBERS; i++)
        if (!strcmp(key, numbers[i].key))
            infos_u32(to, key, numbers[i].of(w));
}

/* The library does not tell which rank asks: no namespace means the step's first world. */
static const struct world *world_asked(const pmix_query_t *q, struct world *worlds)
{
    for (size_t i = 0; i < q->nqual; i++)
        if (PMIX_CHECK_KEY(&q->qualifiers[i], PMIX_NSPACE) &&
            q->qualifiers[i].value.type == PMIX_STRING && q->qualifiers[i].value.data.string)
            return world_by_nspace(worlds, q->qualifiers[i].value.data.string);
    return world_by_number(worlds, 0);
}

static void query_answered(void *cbdata)
{
    struct query_item *q = cbdata;
    infos_free(&q->answer);
    free(q);
}

static void finish(struct query_item *q)
{
    pmix_status_t status = q->answer.status;
    if (status == PMIX_SUCCESS && q->answer.n < q->wanted)
        status = q->answer.n ? PMIX_QUERY_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
    q->cbfunc(status, q->answer.v, q->answer.n, q->cbdata, query_answered, q);
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool is_table(const char *key)
{
    return !strcmp(key, PMIX_QUERY_PROC_TABLE) || !strcmp(key, PMIX_QUERY_LOCAL_PROC_TABLE);
}

static void ask_table(struct server *s, struct query_item *q, const struct world *w)
{
    struct asker asker = {.cbdata = q};
    Mprun__RankTable m = MPRUN__RANK_TABLE__INIT;
    m.id = requests_add(&s->requests, &asker, 0);
    m.world = w->number;
    link_send(s->link, FRAME_RANK_TABLE, &m.base);
}

static pmix_proc_state_t state_of(uint64_t pid, uint32_t end)
{
    static const pmix_proc_state_t states[] = {
        [END_LIMIT] = PMIX_PROC_STATE_SENSOR_BOUND_EXCEEDED,
        [END_SIGNAL] = PMIX_PROC_STATE_ABORTED_BY_SIG,
        [END_ABORT] = PMIX_PROC_STATE_CALLED_ABORT,
        [END_NOT_STARTED] = PMIX_PROC_STATE_FAILED_TO_START,
        [END_CODE] = PMIX_PROC_STATE_TERM_NON_ZERO,
        [END_NO_FINALIZE] = PMIX_PROC_STATE_TERM_WO_SYNC,
        [END_NO_INIT] = PMIX_PROC_STATE_TERM_WO_SYNC,
        [END_OK] = PMIX_PROC_STATE_TERMINATED,
        [END_KILLED] = PMIX_PROC_STATE_KILLED_BY_CMD,
    };
    if (!end || end > sizeof(states) / sizeof(states[0]))
        return pid ? PMIX_PROC_STATE_RUNNING : PMIX_PROC_STATE_PREPPED;
    return states[end - 1];
}

static void fill_process(const struct world *w, uint32_t rank, const Mprun__RankTable *m,
                         pmix_proc_info_t *to)
{
    const struct world_app *app = world_app_of(w, rank);
    bool is_signal = m->ends[rank] == END_SIGNAL + 1;
    PMIX_LOAD_PROCID(&to->proc, w->nspace, rank);
    to->hostname = strdup(w->nodes[world_node_of(w, rank)].name);
    to->executable_name = app ? strdup(app->program) : NULL;
    to->pid = (pid_t)m->pids[rank];
    to->exit_code = is_signal ? EXIT_CODE_SIGNAL + m->codes[rank] : m->codes[rank];
    to->state = state_of(m->pids[rank], m->ends[rank]);
}

static void add_table(struct infos *to, const char *key, const struct world *w,
                      const Mprun__RankTable *m)
{
    bool is_local = !strcmp(key, PMIX_QUERY_LOCAL_PROC_TABLE);
    uint32_t n = is_local ? rank_set_count(world_local_ranks(w)) : w->nranks;
    pmix_proc_info_t *all;
    if (m->n_pids != w->nranks || m->n_ends != w->nranks || m->n_codes != w->nranks)
        return;
    PMIX_PROC_INFO_CREATE(all, n + 1);
    must(all);
    for (uint32_t i = 0; i < n; i++)
        fill_process(w, is_local ? rank_set_at(world_local_ranks(w), i).rank : i, m, &all[i]);
    infos_elements(to, key, all, n, PMIX_PROC_INFO);
}

/* ---- what ranks use -------------------------------------------------------------------------- */

static bool is_memory(const char *key)
{
    return !strcmp(key, PMIX_QUERY_MEMORY_USAGE);
}

static bool is_usage(const char *key)
{
    return !strcmp(key, KEY_CPU) || !strcmp(key, KEY_MEMORY) || !strcmp(key, KEY_PROCESSES) ||
           is_memory(key);
}

/* Says whose memory is asked for. 1: *ret's, which is a rank, or with RANK_ALL a world; 0: that of
 * all ranks; -1: of no world that is known, or of several ranks, for which a query each has to be.
 */
static int whose_memory(const pmix_query_t *q, struct world *worlds, struct rank_name *ret)
{
    const struct world *w = world_asked(q, worlds);
    int nranks = 0, nworlds = 0;
    *ret = (struct rank_name){.rank = RANK_ALL};
    for (size_t i = 0; i < q->nqual; i++) {
        const pmix_info_t *info = &q->qualifiers[i];
        nworlds += PMIX_CHECK_KEY(info, PMIX_NSPACE);
        if (PMIX_CHECK_KEY(info, PMIX_RANK) && info->value.type == PMIX_PROC_RANK) {
            ret->rank = info->value.data.rank;
            nranks++;
        } else if (PMIX_CHECK_KEY(info, PMIX_PROCID) && info->value.type == PMIX_PROC) {
            w = world_by_nspace(worlds, info->value.data.proc->nspace);
            ret->rank = info->value.data.proc->rank;
            nranks++;
        }
    }
    if (!w || nranks > 1 || (ret->rank != RANK_ALL && ret->rank >= w->nranks))
        return -1;
    ret->world = w->number;
    return nranks || nworlds;
}

/* false: mprun cannot be asked. */
static bool ask_usage(struct server *s, struct query_item *q, const char *key)
{
    struct asker asker = {.cbdata = q};
    struct rank_name name;
    Mprun__RankName of;
    Mprun__HostsUsage m = MPRUN__HOSTS_USAGE__INIT;
    int rc = is_memory(key) ? whose_memory(&q->queries[q->query], s->worlds, &name) : 0;
    if (rc < 0)
        return false;
    if (rc > 0) {
        rank_name_pack(name, &of);
        m.of = &of;
    }
    m.id = requests_add(&s->requests, &asker, 0);
    link_send(s->link, FRAME_HOSTS_USAGE, &m.base);
    return true;
}

static bool is_asked_of_all_hosts(const pmix_query_t *q)
{
    for (size_t i = 0; i < q->nqual; i++)
        if (PMIX_CHECK_KEY(&q->qualifiers[i], PMIX_QUERY_LOCAL_ONLY))
            return !PMIX_INFO_TRUE(&q->qualifiers[i]);
    return true;
}

static void add_memory(struct infos *one, double bytes, struct infos *to, const char *key)
{
    float megabytes = (float)(bytes / 1e6);
    infos_add(one, PMIX_CLIENT_AVG_MEMORY, &megabytes, PMIX_FLOAT);
    infos_array(to, key, one);
}

/* Adds the average of each host's processes, or what all processes of the only rank use. */
static void add_memories(struct infos *to, const Mprun__HostsUsage *m, const char *here,
                         const struct world *w, uint32_t rank)
{
    struct infos each = {.v = NULL}, one = {.v = NULL};
    double all = 0;
    for (size_t i = 0; i < m->n_hosts; i++) {
        AUTO_FREE char *host = bytes_dup(&m->hosts[i]);
        all += (double)m->memory[i];
        if (rank != RANK_ALL || !host || (here && strcmp(host, here)) || !m->processes[i])
            continue;
        infos_string(&one, PMIX_HOSTNAME, host);
        add_memory(&one, (double)m->memory[i] / (double)m->processes[i], &each,
                   PMIX_NODE_INFO_ARRAY);
    }
    if (rank != RANK_ALL) {
        infos_string(&one, PMIX_NSPACE, w->nspace);
        infos_rank(&one, PMIX_RANK, rank);
        add_memory(&one, all, &each, PMIX_PROC_INFO_ARRAY);
    }
    infos_array(to, PMIX_QUERY_MEMORY_USAGE, &each);
}

/* here: the only host in question; NULL: all hosts. */
static void add_usage(struct infos *to, const char *key, const Mprun__HostsUsage *m,
                      const char *here)
{
    uint64_t cpu = 0, memory = 0, processes = 0;
    for (size_t i = 0; i < m->n_hosts; i++) {
        AUTO_FREE char *host = bytes_dup(&m->hosts[i]);
        if (!host || (here && strcmp(host, here)))
            continue;
        cpu += m->cpu[i];
        memory += m->memory[i];
        processes += m->processes[i];
    }
    double seconds = (double)cpu / 1e6;
    if (!strcmp(key, KEY_CPU))
        infos_add(to, key, &seconds, PMIX_DOUBLE);
    else if (!strcmp(key, KEY_MEMORY))
        infos_add(to, key, &memory, PMIX_UINT64);
    else
        infos_add(to, key, &processes, PMIX_UINT64);
}

/* ---- one after the other --------------------------------------------------------------------- */

static void go_on(struct query_item *q, struct server *s)
{
    for (; q->query < q->nqueries; q->query++, q->key = 0) {
        const struct world *w = world_asked(&q->queries[q->query], s->worlds);
        char **keys = q->queries[q->query].keys;
        while (keys && keys[q->key]) {
            const char *key = keys[q->key++];
            q->wanted++;
            if (is_usage(key)) {
                if (ask_usage(s, q, key))
                    return;
                continue;
            }
            if (is_table(key) && w) {
                ask_table(s, q, w);
                return;
            }
            answer_key(&q->answer, key, w, s->worlds);
        }
    }
    finish(q);
}

static void query_run(struct bridge_item *item, struct server *s)
{
    go_on((struct query_item *)item, s);
}

void query_take_table(struct server *s, const Mprun__RankTable *m)
{
    struct asker asker;
    const struct world *w = world_by_number(s->worlds, m->world);
    if (!requests_take(&s->requests, m->id, &asker))
        return;
    struct query_item *q = asker.cbdata;
    if (w)
        add_table(&q->answer, q->queries[q->query].keys[q->key - 1], w, m);
    go_on(q, s);
}

void query_take_usage(struct server *s, const Mprun__HostsUsage *m)
{
    struct asker asker;
    if (!requests_take(&s->requests, m->id, &asker))
        return;
    struct query_item *q = asker.cbdata;
    const pmix_query_t *asked = &q->queries[q->query];
    const char *key = asked->keys[q->key - 1];
    const char *here = is_asked_of_all_hosts(asked) ? NULL : s->hostname;
    bool is_whole =
        m->n_cpu == m->n_hosts && m->n_memory == m->n_hosts && m->n_processes == m->n_hosts;
    struct rank_name of;
    if (is_whole && !is_memory(key))
        add_usage(&q->answer, key, m, here);
    else if (is_whole && whose_memory(asked, s->worlds, &of) >= 0)
        add_memories(&q->answer, m, here, world_by_number(s->worlds, of.world), of.rank);
    go_on(q, s);
}

pmix_status_t query_upcall(struct server *s, pmix_query_t *queries, size_t n,
                           pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    struct query_item *q = must(malloc(sizeof(*q)));
    *q = (struct query_item){.item.run = query_run,
                             .queries = queries,
                             .nqueries = n,
                             .cbfunc = cbfunc,
                             .cbdata = cbdata};
    bridge_post(&s->bridge, &q->item);
    return PMIX_SUCCESS;
}
