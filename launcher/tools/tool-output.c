/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/tools/tool-output.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/must.h"
#include "launcher/hosts/host-links.h"
#include "launcher/tunables.h"
#include "wire/messages/frame.h"

struct tool_host {
    struct host *host;
    uint64_t under_way; /* bytes */
    bool has_lost;
};

void tool_output_free(struct tool_output *t)
{
    free(t->hosts);
    *t = (struct tool_output){.n = 0};
}

static struct tool_host *find(const struct tool_output *t, const struct host *h)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->hosts[i].host == h)
            return &t->hosts[i];
    return NULL;
}

void tool_output_want(struct tool_output *t, struct host *h)
{
    if (find(t, h))
        return;
    t->hosts = must(reallocarray(t->hosts, t->n + 1, sizeof(*t->hosts)));
    t->hosts[t->n++] = (struct tool_host){.host = h};
}

void tool_output_put(struct tool_output *t, const struct bulk_header *bh, const void *data,
                     size_t n)
{
    for (size_t i = 0; n && i < t->n; i++) {
        struct tool_host *to = &t->hosts[i];
        if (to->under_way + n <= TOOL_OUTPUT_MAX) {
            to->under_way += n;
            host_send_bulk(to->host, FRAME_OUTPUT, bh, data, n);
        } else if (!to->has_lost) {
            to->has_lost = true;
            log_warn("ranks write faster than host %s takes a copy for tools (PMIx_IOF_pull): "
                     "tools there do not get all of it",
                     to->host->name);
        }
    }
}

void tool_output_taken(struct tool_output *t, const struct host *h, uint64_t n)
{
    struct tool_host *of = find(t, h);
    if (of)
        of->under_way -= n < of->under_way ? n : of->under_way;
}
