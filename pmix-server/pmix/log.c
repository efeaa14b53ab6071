/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c - PMIx_Log: texts for standard output and error become the rank's own output
 *
 * The library has written to this host's log itself. */
#include "pmix-server/pmix/requests.h"

#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "common/buffer.h"
#include "common/must.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"

struct log_item {
    struct bridge_item item;
    pmix_proc_t from;
    struct buffer text[2]; /* for standard output, for standard error */
    pmix_status_t status;
    struct asker asker;
};

static void log_run(struct bridge_item *item, struct server *s)
{
    struct log_item *l = (struct log_item *)item;
    const struct world *w = world_by_nspace(s->worlds, l->from.nspace);
    for (unsigned stream = 1; stream <= 2; stream++) {
        struct buffer *text = &l->text[stream - 1];
        if (w && buffer_len(text))
            server_tell_output(s, w, l->from.rank, stream, buffer_ptr(text), buffer_len(text));
        buffer_free(text);
    }
    asker_answer(&l->asker, l->status, NULL, 0);
    free(l);
}

/* Ignores PMIX_LOG_MSG, help texts of Open MPI: its ranks print them themselves. */
static pmix_status_t take_data(struct log_item *l, const pmix_info_t *i)
{
    bool is_error = PMIX_CHECK_KEY(i, PMIX_LOG_STDERR);
    if (PMIX_CHECK_KEY(i, PMIX_LOG_MSG) || PMIX_CHECK_KEY(i, PMIX_LOG_SYSLOG) ||
        PMIX_CHECK_KEY(i, PMIX_LOG_LOCAL_SYSLOG))
        return PMIX_SUCCESS;
    if (!is_error && !PMIX_CHECK_KEY(i, PMIX_LOG_STDOUT))
        return PMIX_ERR_NOT_SUPPORTED;
    struct buffer *to = &l->text[is_error];
    if (i->value.type != PMIX_STRING || !i->value.data.string)
        return PMIX_ERR_BAD_PARAM;
    size_t n = strlen(i->value.data.string);
    if (buffer_len(to) + n > BULK_DATA_MAX)
        return PMIX_ERR_OUT_OF_RESOURCE;
    buffer_append(to, i->value.data.string, n);
    return PMIX_SUCCESS;
}

void log_upcall(struct server *s, const pmix_proc_t *from, const pmix_info_t *data, size_t ndata,
                const struct asker *asker)
{
    struct log_item *l = must(calloc(1, sizeof(*l)));
    *l = (struct log_item){.item.run = log_run, .from = *from, .asker = *asker};
    for (size_t i = 0; l->status == PMIX_SUCCESS && i < ndata; i++)
        l->status = take_data(l, &data[i]);
    bridge_post(&s->bridge, &l->item);
}
