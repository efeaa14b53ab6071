/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c - a rank ends, signals or stops ranks of the step (PMIx_Job_control), or aborts others
 * (PMIx_Abort)
 *
 * mprun passes the order on to the ranks' hosts. The answer says that the order is on its way. */
#include "pmix-server/pmix/requests.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "pmix-server/server.h"
#include "pmix-server/tunables.h"
#include "pmix-server/world.h"
#include "wire/messages/values.h"

struct order {
    struct bridge_item item;
    pmix_proc_t from;
    int signo; /* 0: none */
    bool ends;
    bool is_abort;
    int code;
    char text[ABORT_TEXT_MAX];
    struct asker asker;
    size_t nprocs;
    pmix_proc_t procs[];
};

static bool pack_name(const struct server *s, const pmix_proc_t *proc, Mprun__RankName *to)
{
    const struct world *w = world_by_nspace(s->worlds, proc->nspace);
    bool is_there = w && (proc->rank == PMIX_RANK_WILDCARD || world_node_of(w, proc->rank) >= 0);
    if (is_there)
        rank_name_pack((struct rank_name){.world = w->number, .rank = proc->rank}, to);
    return is_there;
}

static void send_signal(struct server *s, const struct order *o, Mprun__RankName **names)
{
    Mprun__Signal m = MPRUN__SIGNAL__INIT;
    m.signo = (uint32_t)o->signo;
    m.ends = o->ends;
    m.n_ranks = o->nprocs;
    m.ranks = names;
    link_send(s->link, FRAME_SIGNAL, &m.base);
}

static void order_run(struct bridge_item *item, struct server *s)
{
    struct order *o = (struct order *)item;
    const struct world *w = world_by_nspace(s->worlds, o->from.nspace);
    AUTO_FREE Mprun__RankName *names = must(calloc(o->nprocs, sizeof(*names)));
    AUTO_FREE Mprun__RankName **list = must(calloc(o->nprocs, sizeof(*list)));
    pmix_status_t status = o->is_abort && !w ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
    for (size_t i = 0; status == PMIX_SUCCESS && i < o->nprocs; i++) {
        list[i] = &names[i];
        if (!pack_name(s, &o->procs[i], &names[i]))
            status = PMIX_ERR_NOT_FOUND;
    }
    asker_answer(&o->asker, status, NULL, 0); /* first, because the order may end the step */
    if (status == PMIX_SUCCESS && o->signo)
        send_signal(s, o, list);
    else if (status == PMIX_SUCCESS && o->is_abort)
        server_tell_abort(s, w, o->from.rank, o->code, o->text, list, o->nprocs);
    free(o);
}

/* No ranks means all ranks of the asker's world. */
static struct order *order_create(const pmix_proc_t *from, const pmix_proc_t *procs, size_t n)
{
    struct order *o = must(calloc(1, sizeof(*o) + (n + 1) * sizeof(*procs)));
    o->item.run = order_run;
    o->from = *from;
    o->nprocs = n ? n : 1;
    if (n)
        memcpy(o->procs, procs, n * sizeof(*procs));
    else
        PMIX_LOAD_PROCID(&o->procs[0], from->nspace, PMIX_RANK_WILDCARD);
    return o;
}

pmix_status_t abort_some_upcall(struct server *s, const pmix_proc_t *from, int code,
                                const char *text, const pmix_proc_t *procs, size_t n,
                                const struct asker *asker)
{
    struct order *o = order_create(from, procs, n);
    o->is_abort = true;
    o->code = code;
    strncpy(o->text, text, sizeof(o->text) - 1);
    o->asker = *asker;
    bridge_post(&s->bridge, &o->item);
    return PMIX_SUCCESS;
}

/* Ignores what the library does itself: removing files when a rank has ended. */
static pmix_status_t take_directive(struct order *o, const pmix_info_t *i)
{
    static const struct {
        const char *key;
        int signo;
        bool ends;
    } words[] = {
        {PMIX_JOB_CTRL_KILL, SIGKILL, true},
        {PMIX_JOB_CTRL_TERMINATE, SIGTERM, true},
        {PMIX_JOB_CTRL_PAUSE, SIGSTOP, false},
        {PMIX_JOB_CTRL_RESUME, SIGCONT, false},
    };
    if (PMIX_CHECK_KEY(i, PMIX_JOB_CTRL_ID) || PMIX_CHECK_KEY(i, PMIX_JOB_CTRL_PREEMPTIBLE) ||
        PMIX_CHECK_KEY(i, PMIX_JOB_CTRL_CHECKPOINT_METHOD))
        return PMIX_SUCCESS; /* a rank says what may be done with it */
    if (PMIX_CHECK_KEY(i, PMIX_JOB_CTRL_SIGNAL)) {
        o->signo = i->value.type == PMIX_INT ? i->value.data.integer : 0;
        return o->signo > 0 && o->signo < NSIG ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    }
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
        if (PMIX_CHECK_KEY(i, words[k].key)) {
            if (PMIX_INFO_TRUE(i)) {
                o->signo = words[k].signo;
                o->ends = words[k].ends;
            }
            return PMIX_SUCCESS;
        }
    return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t control_upcall(struct server *s, const pmix_proc_t *from, const pmix_proc_t *procs,
                             size_t n, const pmix_info_t *info, size_t ninfo,
                             const struct asker *asker)
{
    struct order *o = order_create(from, procs, n);
    pmix_status_t rc = PMIX_SUCCESS;
    for (size_t i = 0; rc == PMIX_SUCCESS && i < ninfo; i++)
        rc = take_directive(o, &info[i]);
    if (!ninfo)
        rc = PMIX_ERR_BAD_PARAM;
    if (rc != PMIX_SUCCESS) {
        free(o);
        return rc;
    }
    o->asker = *asker;
    bridge_post(&s->bridge, &o->item);
    return PMIX_SUCCESS;
}
