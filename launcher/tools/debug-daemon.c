/* SPDX-License-Identifier: BSD-3-Clause */
/* debug-daemon.c - --debug-daemon: hosts are told to start it, and get the table of all ranks */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/words.h"
#include "launcher/run.h"
#include "wire/messages/values.h"

void step_start_debug_daemons(struct run *r)
{
    const struct step_record *record = &r->record;
    Mprun__DebugDaemon m = MPRUN__DEBUG_DAEMON__INIT;
    char **words =
        r->plan->cmd->debug.daemon ? words_split(r->plan->cmd->debug.daemon, NULL) : NULL;
    if (!words)
        return;
    while (words[m.n_argv])
        m.n_argv++;
    m.n_pids = r->plan->step.nranks;
    AUTO_FREE ProtobufCBinaryData *argv = must(calloc(m.n_argv + 1, sizeof(*argv)));
    AUTO_FREE uint64_t *pids = must(calloc(m.n_pids + 1, sizeof(*pids)));
    for (size_t i = 0; i < m.n_argv; i++)
        argv[i] = bytes_of(words[i]);
    for (uint32_t i = 0; i < m.n_pids; i++)
        pids[i] = (uint64_t)step_record_rank(record, (struct rank_name){.rank = i})->pid;
    m.argv = argv;
    m.pids = pids;
    hosts_broadcast(r->hosts, FRAME_DEBUG_DAEMON, &m.base);
    words_free(words);
}
