/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence.c - the registry of managers that can prove membership */
#include "node-daemon/reader/evidence-sources.h"

#include <errno.h>

static const struct evidence_source *const sources[] = {&evidence_gridengine, &evidence_slurm,
                                                        &evidence_pbs};
enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };

const struct evidence_source *evidence_of(const struct conf *c, enum grant_manager manager)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (sources[i]->manager == manager && sources[i]->is_configured(c))
            return sources[i];
    return NULL;
}

int evidence_prove(const struct conf *c, const struct asker *who, struct task_evidence *ret,
                   enum grant_manager *ret_manager, struct error *err)
{
    error_set(err, EPERM, "this process is in no job that mprund knows of");
    for (size_t i = 0; i < SOURCES; i++) {
        if (!sources[i]->is_configured(c))
            continue;
        if (sources[i]->prove(c, who, ret, err) == 0) {
            *ret_manager = sources[i]->manager;
            return 0;
        }
    }
    return -1;
}
