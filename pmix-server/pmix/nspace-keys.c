/* SPDX-License-Identifier: BSD-3-Clause */
/* nspace-keys.c - rules of the library that its manual lacks: an array of a rank begins with
 * PMIX_RANK; if there is one, the library no longer derives PMIX_LOCAL_RANK and PMIX_NODE_RANK from
 * the maps; local and node ranks are 16 bits wide. */
#include "pmix-server/pmix/nspace.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include <pmix.h>
#include <pmix_server.h>

#include "common/cleanup.h"
#include "pmix-server/pmix/infos.h"
#include "pmix-server/world.h"

/* Adds text as a regular expression of the library's own kind, which may contain zeros. */
static void add_map(struct infos *to, const char *key, const char *text,
                    pmix_status_t (*generate)(const char *, char **))
{
    AUTO_FREE char *regex = NULL;
    pmix_status_t rc = generate(text, &regex);
    if (rc == PMIX_SUCCESS)
        infos_add(to, key, regex, PMIX_REGEX);
    else if (to->status == PMIX_SUCCESS)
        to->status = rc;
}

static void add_maps(const struct world *w, struct infos *to)
{
    AUTO_FREE char *names = world_node_names(w);
    AUTO_FREE char *ranks = world_rank_map(w);
    add_map(to, PMIX_NODE_MAP, names, PMIx_generate_regex);
    add_map(to, PMIX_PROC_MAP, ranks, PMIx_generate_ppn);
}

/* Adds a node's size, leader and peers: our node's at the top, each node's in its array. */
static void add_peers(const struct world *w, uint32_t node, struct infos *to)
{
    const struct rank_set *ranks = &w->nodes[node].ranks;
    AUTO_FREE char *peers = world_node_ranks(w, node);
    infos_u32(to, PMIX_LOCAL_SIZE, rank_set_count(ranks));
    infos_u32(to, PMIX_NODE_SIZE, rank_set_count(ranks));
    infos_rank(to, PMIX_LOCALLDR, rank_set_at(ranks, 0).rank);
    infos_string(to, PMIX_LOCAL_PEERS, peers);
}

static void add_node(const struct world *w, uint32_t node, struct infos *to)
{
    struct infos sub = {.v = NULL};
    char own[HOST_NAME_MAX + 1] = "";
    infos_string(&sub, PMIX_HOSTNAME, w->nodes[node].name);
    infos_u32(&sub, PMIX_NODEID, node);
    /* programs ask for it by what gethostname() says */
    if (w->here == (int)node && gethostname(own, sizeof(own) - 1) == 0)
        infos_string(&sub, PMIX_HOSTNAME_ALIASES, own);
    add_peers(w, node, &sub);
    infos_array(to, PMIX_NODE_INFO_ARRAY, &sub);
}

static void add_app(const struct world *w, uint32_t number, struct infos *to)
{
    const struct world_app *a = &w->apps[number];
    struct infos sub = {.v = NULL};
    infos_u32(&sub, PMIX_APPNUM, number);
    infos_u32(&sub, PMIX_APP_SIZE, rank_set_count(&a->ranks));
    infos_rank(&sub, PMIX_APPLDR, rank_set_at(&a->ranks, 0).rank);
    if (a->directory[0])
        infos_string(&sub, PMIX_WDIR, a->directory);
    if (a->program[0])
        infos_string(&sub, PMIX_APP_ARGV, a->program);
    infos_array(to, PMIX_APP_INFO_ARRAY, &sub);
}

static void add_binding(const char *threads, struct infos *sub)
{
    char text[4096];
    AUTO_FREE char *locality = NULL;
    pmix_cpuset_t set;
    if (!threads[0] || snprintf(text, sizeof(text), "hwloc:%s", threads) >= (int)sizeof(text))
        return;
    PMIX_CPUSET_CONSTRUCT(&set);
    infos_string(sub, PMIX_CPUSET, text);
    /* Without a locality, ranks know only that they share the host. */
    if (PMIx_Parse_cpuset_string(text, &set) == PMIX_SUCCESS) {
        if (PMIx_server_generate_locality_string(&set, &locality) == PMIX_SUCCESS && locality)
            infos_string(sub, PMIX_LOCALITY_STRING, locality);
        PMIx_Cpuset_destruct(&set);
    }
}

static void add_rank(const struct world *w, const struct world *parent, uint32_t rank,
                     const char *nsdir, struct infos *to)
{
    struct infos sub = {.v = NULL};
    struct rank_name name = {.world = w->number, .rank = rank};
    const struct world_app *app = world_app_of(w, rank);
    uint32_t node = (uint32_t)world_node_of(w, rank);
    uint32_t local = (uint32_t)rank_set_index(&w->nodes[node].ranks, name);
    infos_rank(&sub, PMIX_RANK, rank);
    infos_u16(&sub, PMIX_LOCAL_RANK, (uint16_t)local);
    infos_u16(&sub, PMIX_NODE_RANK, (uint16_t)local);
    infos_u32(&sub, PMIX_APPNUM, app ? (uint32_t)(app - w->apps) : 0);
    infos_rank(&sub, PMIX_APP_RANK, app ? (uint32_t)rank_set_index(&app->ranks, name) : rank);
    infos_rank(&sub, PMIX_GLOBAL_RANK, rank);
    infos_u32(&sub, PMIX_NODEID, node);
    infos_string(&sub, PMIX_HOSTNAME, w->nodes[node].name);
    infos_u32(&sub, PMIX_REINCARNATION, 0);
    if (parent) {
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, parent->nspace, w->parent.rank);
        infos_add(&sub, PMIX_PARENT_ID, &proc, PMIX_PROC);
    }
    if (world_is_local(w, rank)) {
        char procdir[PATH_MAX];
        add_binding(world_bound(w, local), &sub);
        if (snprintf(procdir, sizeof(procdir), "%s/%u", nsdir, rank) < (int)sizeof(procdir))
            infos_string(&sub, PMIX_PROCDIR, procdir);
    }
    infos_array(to, PMIX_PROC_DATA, &sub);
}

static void add_sizes(const struct world *w, struct infos *to)
{
    infos_string(to, PMIX_JOBID, w->nspace);
    infos_u32(to, PMIX_NUM_NODES, (uint32_t)w->nnodes);
    infos_u32(to, PMIX_UNIV_SIZE, world_universe(w));
    infos_u32(to, PMIX_JOB_SIZE, w->nranks);
    infos_u32(to, PMIX_MAX_PROCS, w->nranks);
    infos_u32(to, PMIX_JOB_NUM_APPS, w->napps ? (uint32_t)w->napps : 1);
}

void nspace_keys(const struct world *w, const struct world *parent, const char *tmpdir,
                 const char *nsdir, struct infos *to)
{
    add_maps(w, to);
    add_sizes(w, to);
    if (nsdir) {
        infos_string(to, PMIX_TMPDIR, tmpdir);
        infos_string(to, PMIX_NSDIR, nsdir);
        infos_true(to, PMIX_TDIR_RMCLEAN);
    }
    if (w->is_spawned)
        infos_true(to, PMIX_SPAWNED);
    if (w->here >= 0)
        add_peers(w, (uint32_t)w->here, to);
    for (uint32_t i = 0; i < w->nnodes; i++)
        add_node(w, i, to);
    for (uint32_t i = 0; i < w->napps; i++)
        add_app(w, i, to);
    for (uint32_t rank = 0; rank < w->nranks; rank++)
        add_rank(w, parent, rank, nsdir, to);
}
