/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-exchange.c - collectives among ranks of several hosts, and data of one rank for another host
 *
 * Parts come gathered from the hosts right below (wire/tree/gather.h). When all are here they go
 * back as one run of bytes, in the order of hosts: to everybody by one message a link, to some by
 * one a host. Those in which ranks of other steps take part go to job-worlds.c first. */
#include "launcher/worlds/pmi-exchange.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "launcher/hosts/host-links.h"
#include "launcher/worlds/job-worlds.h"

enum { PMIX_ERROR = -1 }; /* the only status that is made here */

static int awaited(void *arg, uint32_t host)
{
    return 1; /* everything comes here */
}

static uint8_t *all_parts(const Mprun__Collect *m, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        n += m->parts[i]->data.len;
    uint8_t *all = must(malloc(n + 1));
    *ret_n = n;
    for (size_t i = 0, at = 0; i < m->n_parts; at += m->parts[i++]->data.len)
        if (m->parts[i]->data.len)
            memcpy(all + at, m->parts[i]->data.data, m->parts[i]->data.len);
    return all;
}

static void answer_hosts(void *arg, const Mprun__Collect *m, int status, const uint8_t *data,
                         size_t n)
{
    struct pmi_exchange *c = arg;
    struct host_table *hosts = c->hosts;
    Mprun__Collected answer = MPRUN__COLLECTED__INIT;
    answer.signature = m->signature;
    answer.turn = m->turn;
    answer.number = ++c->ncomplete;
    answer.status = status;
    answer.data = (ProtobufCBinaryData){.len = n, .data = (uint8_t *)(uintptr_t)data};
    if (m->n_hosts == 0)
        hosts_broadcast(hosts, FRAME_COLLECTED, &answer.base);
    for (size_t i = 0; i < m->n_hosts; i++) {
        struct host *h = host_at(hosts, m->hosts[i]);
        if (h)
            host_send(h, FRAME_COLLECTED, &answer.base);
    }
}

static void complete(void *arg, const Mprun__Collect *m)
{
    struct pmi_exchange *c = arg;
    size_t n;
    AUTO_FREE uint8_t *all = all_parts(m, &n);
    if (m->crosses)
        job_worlds_collect(c->others, m, all, n);
    else
        answer_hosts(c, m, 0, all, n);
}

void pmi_exchange_init(struct pmi_exchange *c, struct host_table *hosts, struct job_worlds *others)
{
    c->rules = (struct gather_rules){
        .nhosts = (uint32_t)hosts->plan->nused, .awaited = awaited, .complete = complete};
    c->hosts = hosts;
    c->others = others;
    job_worlds_on_answer(others, answer_hosts, c);
    c->gather = gather_create(&c->rules, c);
}

int pmi_exchange_part(struct pmi_exchange *c, const struct host *from, const uint8_t *p, size_t n)
{
    struct error e;
    if (gather_add(c->gather, p, n, &e) == 0)
        return 0;
    log_warn("host %s: %s", from->name, e.text);
    return -1;
}

/* ---- direct modex ---------------------------------------------------------------------------- */

static void refuse_modex(struct host *to, const Mprun__ModexRequest *m)
{
    Mprun__ModexReply no = MPRUN__MODEX_REPLY__INIT;
    no.id = m->id;
    no.status = PMIX_ERROR;
    no.to_host = to->launch_index;
    host_send(to, FRAME_MODEX_REPLY, &no.base);
}

void pmi_exchange_modex_request(const struct pmi_exchange *c, struct host *from,
                                Mprun__ModexRequest *m)
{
    struct host *owner = m->name ? host_of_rank(from->table, rank_name_unpack(m->name)) : NULL;
    m->from_host = from->launch_index;
    m->from_step = 0;
    if (job_worlds_modex_request(c->others, m))
        return;
    if (!owner || owner == from || !host_send(owner, FRAME_MODEX_REQUEST, &m->base))
        refuse_modex(from, m);
}

/* The host that has sent it takes no notice of its own. */
void pmi_exchange_event(const struct host *from, Mprun__PmiEvent *m)
{
    m->from_host = from->launch_index;
    hosts_broadcast(from->table, FRAME_PMI_EVENT, &m->base);
}

void pmi_exchange_modex_reply(const struct pmi_exchange *c, Mprun__ModexReply *m)
{
    struct host *to = m->to_step ? NULL : host_at(c->hosts, m->to_host);
    if (m->to_step)
        job_worlds_modex_reply(c->others, m);
    else if (to)
        host_send(to, FRAME_MODEX_REPLY, &m->base);
}
