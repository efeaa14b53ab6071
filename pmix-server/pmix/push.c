/* SPDX-License-Identifier: BSD-3-Clause */
/* push.c - a tool or a rank pushes bytes to the standard input of ranks (PMIx_IOF_push)
 *
 * mprun has that input, and answers when it has taken the bytes. */
#include "pmix-server/pmix/requests.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"
#include "wire/messages/frame.h"
#include "wire/messages/values.h"

struct push {
    struct bridge_item item;
    struct asker asker;
    size_t nprocs, n;
    pmix_proc_t procs[]; /* then the bytes */
};

static bool pack_names(const struct server *s, const struct push *p, Mprun__RankName *names,
                       Mprun__RankName **list)
{
    for (size_t i = 0; i < p->nprocs; i++) {
        const struct world *w = world_by_nspace(s->worlds, p->procs[i].nspace);
        if (!w)
            return false;
        rank_name_pack((struct rank_name){.world = w->number, .rank = p->procs[i].rank}, &names[i]);
        list[i] = &names[i];
    }
    return true;
}

static void push_run(struct bridge_item *item, struct server *s)
{
    struct push *p = (struct push *)item;
    AUTO_FREE Mprun__RankName *names = must(calloc(p->nprocs + 1, sizeof(*names)));
    AUTO_FREE Mprun__RankName **list = must(calloc(p->nprocs + 1, sizeof(*list)));
    Mprun__InputPush m = MPRUN__INPUT_PUSH__INIT;
    if (!pack_names(s, p, names, list)) {
        asker_answer(&p->asker, PMIX_ERR_NOT_FOUND, NULL, 0);
    } else {
        m.id = requests_add(&s->requests, &p->asker, 0);
        m.n_ranks = p->nprocs;
        m.ranks = list;
        m.data = (ProtobufCBinaryData){p->n, (uint8_t *)&p->procs[p->nprocs]};
        link_send(s->link, FRAME_INPUT_PUSH, &m.base);
    }
    free(p);
}

/* Without bytes: the end of the input. */
pmix_status_t push_upcall(struct server *s, const pmix_proc_t *procs, size_t nprocs,
                          const pmix_byte_object_t *bytes, const struct asker *asker)
{
    size_t n = bytes ? bytes->size : 0, nnames = nprocs * sizeof(*procs);
    if (nprocs == 0 || n > INPUT_PUSH_MAX)
        return PMIX_ERR_BAD_PARAM;
    struct push *p = must(malloc(sizeof(*p) + nnames + n));
    *p = (struct push){.item.run = push_run, .asker = *asker, .nprocs = nprocs, .n = n};
    memcpy(p->procs, procs, nnames);
    if (n)
        memcpy(&p->procs[nprocs], bytes->bytes, n);
    bridge_post(&s->bridge, &p->item);
    return PMIX_SUCCESS;
}

void push_answer(struct server *s, const Mprun__InputPushed *m)
{
    static const pmix_status_t words[] = {PMIX_SUCCESS, PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_NOT_FOUND,
                                          PMIX_ERR_OUT_OF_RESOURCE};
    bool is_known = m->status < sizeof(words) / sizeof(words[0]);
    requests_answer(&s->requests, m->id, is_known ? words[m->status] : PMIX_ERROR, NULL, 0);
}
