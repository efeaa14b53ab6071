/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c - events of the ranks here reach the ranks of other hosts, through mprun
 *
 * The library itself keeps handlers and caches events, and has told the ranks of its host already.
 * It calls on_notify() only for events of its own clients, so events from other hosts do not go
 * round in circles. Its own alerts, about ranks that it monitors, come to a handler of ours; so do
 * alerts from other hosts. */
#include "pmix-server/pmix/requests.h"

#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "common/log.h"
#include "common/must.h"
#include "pmix-server/server.h"
#include "pmix-server/tunables.h"
#include "pmix-server/world.h"

struct event_item {
    struct bridge_item item;
    bool is_alert;
    pmix_proc_t source;
    size_t n;
    uint8_t bytes[]; /* packed */
};

/* An event, kept until the library has told its clients. */
struct event {
    pmix_status_t code;
    pmix_proc_t source;
    pmix_data_range_t range;
    pmix_info_t *info;
    size_t ninfo;
};

static void event_run(struct bridge_item *item, struct server *s)
{
    struct event_item *e = (struct event_item *)item;
    Mprun__PmiEvent m = MPRUN__PMI_EVENT__INIT;
    const struct world *w = world_by_nspace(s->worlds, e->source.nspace);
    bool is_ours = !e->is_alert || (w && world_is_local(w, e->source.rank));
    m.event = (ProtobufCBinaryData){.len = e->n, .data = e->bytes};
    if (is_ours && s->worlds && s->worlds->nhosts > 1)
        link_send(s->link, FRAME_PMI_EVENT, &m.base);
    free(e);
}

static pmix_status_t pack(pmix_data_buffer_t *to, const struct event *e)
{
    pmix_status_t rc = PMIx_Data_pack(NULL, to, (void *)(uintptr_t)&e->code, 1, PMIX_STATUS);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Data_pack(NULL, to, (void *)(uintptr_t)&e->source, 1, PMIX_PROC);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Data_pack(NULL, to, (void *)(uintptr_t)&e->range, 1, PMIX_DATA_RANGE);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Data_pack(NULL, to, (void *)(uintptr_t)&e->ninfo, 1, PMIX_SIZE);
    if (rc == PMIX_SUCCESS && e->ninfo)
        rc = PMIx_Data_pack(NULL, to, e->info, (int32_t)e->ninfo, PMIX_INFO);
    return rc;
}

static pmix_status_t pass_on(struct server *s, const struct event *e, bool is_alert)
{
    pmix_data_buffer_t packed;
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    pmix_status_t rc = pack(&packed, e);
    if (rc == PMIX_SUCCESS && packed.bytes_used > EVENT_MAX)
        rc = PMIX_ERR_BAD_PARAM;
    if (rc == PMIX_SUCCESS) {
        struct event_item *item = must(malloc(sizeof(*item) + packed.bytes_used));
        item->item.run = event_run;
        item->is_alert = is_alert;
        item->source = e->source;
        item->n = packed.bytes_used;
        memcpy(item->bytes, packed.base_ptr, item->n);
        bridge_post(&s->bridge, &item->item);
        rc = PMIX_OPERATION_SUCCEEDED;
    }
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return rc;
}

pmix_status_t event_upcall(struct server *s, pmix_status_t code, const pmix_proc_t *source,
                           pmix_data_range_t range, pmix_info_t *info, size_t ninfo)
{
    struct event e = {code, *source, range, info, ninfo};
    if (range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL || range == PMIX_RANGE_RM)
        return PMIX_OPERATION_SUCCEEDED;
    return pass_on(s, &e, false);
}

/* ---- the library's own ----------------------------------------------------------------------- */

static struct server *alerted; /* handlers have no argument either */

/* In the library's thread. */
static void on_alert(size_t id, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[],
                     size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    struct event e = {code, *source, PMIX_RANGE_NAMESPACE, info, ninfo};
    pass_on(alerted, &e, true);
    if (done)
        done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void is_registered(pmix_status_t status, size_t id, void *cbdata)
{
}

void events_pass_alerts(struct server *s)
{
    static pmix_status_t codes[] = {PMIX_MONITOR_HEARTBEAT_ALERT, PMIX_MONITOR_FILE_ALERT};
    alerted = s;
    PMIx_Register_event_handler(codes, sizeof(codes) / sizeof(codes[0]), NULL, 0, on_alert,
                                is_registered, NULL);
}

/* ---- of other hosts -------------------------------------------------------------------------- */

static void event_free(struct event *e)
{
    if (e->info)
        PMIX_INFO_FREE(e->info, e->ninfo);
    free(e);
}

static pmix_status_t unpack_one(pmix_data_buffer_t *from, void *to, pmix_data_type_t type)
{
    int32_t one = 1;
    return PMIx_Data_unpack(NULL, from, to, &one, type);
}

static pmix_status_t unpack(pmix_data_buffer_t *from, struct event *e)
{
    size_t n = 0;
    pmix_status_t rc = unpack_one(from, &e->code, PMIX_STATUS);
    if (rc == PMIX_SUCCESS)
        rc = unpack_one(from, &e->source, PMIX_PROC);
    if (rc == PMIX_SUCCESS)
        rc = unpack_one(from, &e->range, PMIX_DATA_RANGE);
    if (rc == PMIX_SUCCESS)
        rc = unpack_one(from, &n, PMIX_SIZE);
    if (rc != PMIX_SUCCESS || n == 0)
        return rc;
    if (n > EVENT_MAX / sizeof(uint64_t)) /* more than its bytes can be */
        return PMIX_ERR_BAD_PARAM;
    PMIX_INFO_CREATE(e->info, n);
    must(e->info);
    e->ninfo = n;
    int32_t count = (int32_t)n;
    return PMIx_Data_unpack(NULL, from, e->info, &count, PMIX_INFO);
}

static void notified(pmix_status_t status, void *cbdata)
{
    event_free(cbdata);
}

void event_other_ended(const char *nspace)
{
    struct event *e = must(calloc(1, sizeof(*e)));
    bool yes = true;
    e->code = PMIX_EVENT_JOB_END;
    PMIX_LOAD_PROCID(&e->source, nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_CREATE(e->info, 2);
    must(e->info);
    e->ninfo = 2;
    PMIX_INFO_LOAD(&e->info[0], PMIX_EVENT_AFFECTED_PROC, &e->source, PMIX_PROC);
    PMIX_INFO_LOAD(&e->info[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL); /* else MPI aborts */
    if (PMIx_Notify_event(e->code, &e->source, PMIX_RANGE_LOCAL, e->info, e->ninfo, notified, e) !=
        PMIX_SUCCESS)
        event_free(e);
}

void event_take(struct server *s, const Mprun__PmiEvent *m)
{
    pmix_byte_object_t bytes = {.size = m->event.len, .bytes = (char *)m->event.data};
    pmix_data_buffer_t packed;
    if (!s->worlds || m->from_host == s->worlds->own_host || m->event.len > EVENT_MAX)
        return;
    struct event *e = must(calloc(1, sizeof(*e)));
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    pmix_status_t rc = PMIx_Data_embed(&packed, &bytes);
    if (rc == PMIX_SUCCESS)
        rc = unpack(&packed, e);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Notify_event(e->code, &e->source, e->range, e->info, e->ninfo, notified, e);
    if (rc == PMIX_SUCCESS)
        return;
    if (rc != PMIX_OPERATION_SUCCEEDED)
        log_warn("an event of host %u is lost: %s", m->from_host, PMIx_Error_string(rc));
    event_free(e);
}
