/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-node-events.c - what the kernel's sockets give mprund to read: process events, inotify's */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "node-daemon/reader/ge-config.h"
#include "node-daemon/watch/proc-events.h"
#include "node-daemon/reader/spool-watch.h"

static void try_process_events(const uint8_t *data, size_t size)
{
    struct proc_event_seen e;
    size_t at = 0;
    for (size_t before = 0; proc_event_next(data, size, &at, &e); before = at) {
        MUST(at > before && at <= size);
        MUST(e.kind == PROC_OTHER || e.kind == PROC_EXEC || e.kind == PROC_ANSWER);
        MUST(e.kind == PROC_EXEC ? e.pid > 0 : e.pid == 0);
    }
    MUST(at <= size);
}

static void try_spool_events(const uint8_t *data, size_t size)
{
    struct spool_event v;
    size_t at = 0;
    for (size_t before = 0; spool_event_next((const char *)data, size, &at, &v); before = at) {
        MUST(at > before && at <= size);
        MUST(memchr(v.name, 0, sizeof(v.name)));
        MUST(!ge_is_job(v.name) || !strchr(v.name, '/'));
    }
    MUST(at <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_process_events(data, size);
    try_spool_events(data, size);
    return 0;
}
