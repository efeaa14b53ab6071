/* SPDX-License-Identifier: BSD-3-Clause */
/* iof.c - what ranks write, for tools and ranks that ask for it (PMIx_IOF_pull)
 *
 * mprun sends a copy of all output once a rank or tool here has asked. The library knows who wants
 * what, and queues without a limit for one that does not read. So while mppmi uses too much memory,
 * it gives the library nothing. */
#include "pmix-server/pmix/requests.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/must.h"
#include "pmix-server/server.h"
#include "pmix-server/tunables.h"
#include "pmix-server/world.h"

/* ---- asking ---------------------------------------------------------------------------------- */

static void wanted_run(struct bridge_item *item, struct server *s)
{
    link_send_bytes(s->link, FRAME_OUTPUT_WANTED, NULL, 0);
    free(item);
}

pmix_status_t iof_pull_upcall(struct server *s)
{
    struct bridge_item *item = must(calloc(1, sizeof(*item)));
    item->run = wanted_run;
    bridge_post(&s->bridge, item);
    return PMIX_OPERATION_SUCCEEDED;
}

/* ---- output ---------------------------------------------------------------------------------- */

struct delivery {
    struct bridge_item item;
    struct server *server;
    pmix_proc_t source;
    pmix_byte_object_t bytes;
    unsigned stream;
    char data[];
};

static void tell_taken(struct server *s, unsigned stream, size_t n)
{
    Mprun__OutputCredit m = MPRUN__OUTPUT_CREDIT__INIT;
    m.stream = stream;
    m.bytes = n;
    link_send(s->link, FRAME_OUTPUT_CREDIT, &m.base);
}

static void delivered_run(struct bridge_item *item, struct server *s)
{
    struct delivery *d = (struct delivery *)item;
    tell_taken(s, d->stream, d->bytes.size);
    free(d);
}

/* In the library's thread. */
static void delivered(pmix_status_t status, void *cbdata)
{
    struct delivery *d = cbdata;
    bridge_post(&d->server->bridge, &d->item);
}

static bool has_room(void)
{
    static bool said;
    struct mallinfo2 heap = mallinfo2();
    if (heap.uordblks + heap.hblkhd < IOF_HEAP_MAX)
        return true;
    if (!said)
        log_warn(
            "a tool does not read the output that it has asked for; it does not get all of it");
    said = true;
    return false;
}

int iof_take(struct server *s, const uint8_t *payload, size_t n)
{
    struct bulk_header h;
    struct error err;
    if (bulk_header_unpack(payload, n, &h, &err) < 0 || h.stream == 0)
        return -1;
    n -= BULK_HEADER;
    const struct world *w = world_by_number(s->worlds, h.name.world);
    struct delivery *d = w && has_room() ? must(malloc(sizeof(*d) + n)) : NULL;
    if (!d) {
        tell_taken(s, h.stream, n);
        return 0;
    }
    *d = (struct delivery){.item.run = delivered_run, .server = s, .stream = h.stream};
    PMIX_LOAD_PROCID(&d->source, w->nspace, h.name.rank);
    memcpy(d->data, payload + BULK_HEADER, n);
    d->bytes = (pmix_byte_object_t){.bytes = d->data, .size = n};
    pmix_status_t rc = PMIx_server_IOF_deliver(
        &d->source, h.stream == 1 ? PMIX_FWD_STDOUT_CHANNEL : PMIX_FWD_STDERR_CHANNEL, &d->bytes,
        NULL, 0, delivered, d);
    if (rc != PMIX_SUCCESS)
        delivered_run(&d->item, s);
    return 0;
}
