/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/step/mpi-programs.h"


#include "common/cleanup.h"
#include "launcher/preload/program-path.h"
#include "launcher/preload/shared-libraries.h"
#include "model/step.h"

static bool any_program(const struct step *s, bool (*is)(const char *path))
{
    for (size_t i = 0; i < s->napps; i++) {
        AUTO_FREE char *path = NULL;
        if (program_path(&s->apps[i], s->apps[i].argv[0], false, &path, NULL) == 0 && is(path))
            return true;
    }
    return false;
}

static bool needs_pmi(const char *path)
{
    static const char *const libraries[] = {"libmpi", "libpmi", NULL};
    AUTO_FREE char *library = libraries_needed(path, libraries);
    return library != NULL;
}

static bool spawns_ranks(const char *path)
{
    static const char *const functions[] = {"MPI_Comm_spawn", "PMPI_Comm_spawn", "mpi_comm_spawn",
                                            "PMIx_Spawn", NULL};
    return program_calls(path, functions);
}

bool programs_need_pmi(const struct step *s)
{
    return s->pmi && any_program(s, needs_pmi);
}

bool programs_spawn_ranks(const struct step *s)
{
    return any_program(s, spawns_ranks);
}
