/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.c - collectives among ranks of several hosts, and data of one rank for another host
 *
 * Parts come gathered from the hosts right below (wire/gather.h). When all are here they go back as
 * one run of bytes, in the order of hosts: to everybody by one message a link, to some by one a
 * host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "launcher/run.h"
#include "wire/gather.h"

enum { PMIX_ERROR = -1 }; /* the only status that is made here */

struct collect {
    struct run *run;
    struct gather_rules rules;
    struct gather *gather;
};

/* Hosts in messages are counted among those that have ranks. */
static struct host *host_at(struct run *r, uint32_t launch_index)
{
    return launch_index < r->nused ? r->launched[launch_index] : NULL;
}

static int awaited(void *arg, uint32_t host)
{
    return 1; /* everything comes here */
}

/* NULL: no memory. */
static uint8_t *all_parts(const Mprun__Collect *m, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        n += m->parts[i]->data.len;
    uint8_t *all = malloc(n + 1);
    *ret_n = all ? n : 0;
    for (size_t i = 0, at = 0; all && i < m->n_parts; at += m->parts[i++]->data.len)
        if (m->parts[i]->data.len)
            memcpy(all + at, m->parts[i]->data.data, m->parts[i]->data.len);
    return all;
}

static void complete(void *arg, const Mprun__Collect *m)
{
    struct collect *c = arg;
    Mprun__Collected answer = MPRUN__COLLECTED__INIT;
    size_t n;
    AUTO_FREE uint8_t *all = all_parts(m, &n);
    answer.signature = m->signature;
    answer.turn = m->turn;
    answer.status = all ? 0 : PMIX_ERROR;
    answer.data = (ProtobufCBinaryData){.len = n, .data = all};
    if (m->n_hosts == 0)
        hosts_broadcast(c->run, FRAME_COLLECTED, &answer.base);
    for (size_t i = 0; i < m->n_hosts; i++) {
        struct host *h = host_at(c->run, m->hosts[i]);
        struct link *l = h ? host_link(h) : NULL;
        if (l)
            link_send(l, FRAME_COLLECTED, &answer.base);
    }
}

struct collect *collect_create(struct run *r)
{
    struct collect *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->run = r;
    c->rules = (struct gather_rules){
        .nhosts = (uint32_t)r->nused, .awaited = awaited, .complete = complete};
    c->gather = gather_create(&c->rules, c);
    if (!c->gather) {
        free(c);
        return NULL;
    }
    return c;
}

void collect_destroy(struct collect *c)
{
    if (!c)
        return;
    gather_destroy(c->gather);
    free(c);
}

int collect_part(struct host *from, const uint8_t *p, size_t n)
{
    struct error e;
    if (gather_add(from->run->collect->gather, p, n, &e) == 0)
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
    no.to_host = (uint32_t)to->launch_index;
    struct link *l = host_link(to);
    if (l)
        link_send(l, FRAME_MODEX_REPLY, &no.base);
}

int collect_modex_request(struct host *from, const uint8_t *p, size_t n)
{
    Mprun__ModexRequest *m = mprun__modex_request__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct host *owner = m->name ? hosts_of_rank(from->run, m->name->rank) : NULL;
    m->from_host = (uint32_t)from->launch_index;
    struct link *l = owner && owner != from ? host_link(owner) : NULL;
    if (l)
        link_send(l, FRAME_MODEX_REQUEST, &m->base);
    else
        refuse_modex(from, m);
    mprun__modex_request__free_unpacked(m, NULL);
    return 0;
}

int collect_modex_reply(struct host *from, const uint8_t *p, size_t n)
{
    Mprun__ModexReply *m = mprun__modex_reply__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct host *to = host_at(from->run, m->to_host);
    struct link *l = to ? host_link(to) : NULL;
    if (l)
        link_send(l, FRAME_MODEX_REPLY, &m->base);
    mprun__modex_reply__free_unpacked(m, NULL);
    return 0;
}
