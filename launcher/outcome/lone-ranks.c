/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/outcome/lone-ranks.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/text/words.h"
#include "launcher/preload/program-path.h"
#include "launcher/preload/shared-libraries.h"
#include "launcher/step/step-plan.h"

/* The first line that fits counts. */
static const struct family {
    const char *library, *name, *looks_for, *option;
    unsigned pmi; /* kinds of which one is enough */
} families[] = {
    {"libmpich", "MPICH", "PMI-1 or PMI-2 by the descriptor of PMI_FD", "pmi1,pmi2",
     PMI_KINDS_SIMPLE},
    {"libmpi_cray", "Cray MPICH", "PMI-2 by the descriptor of PMI_FD", "pmi2", PMI_KIND_PMI2},
    {"libmpi.so.12", "MPICH's ABI", "PMI-1 or PMI-2 by the descriptor of PMI_FD", "pmi1,pmi2",
     PMI_KINDS_SIMPLE},
    {"libmpi.so", "Open MPI", "PMIx by PMIX_NAMESPACE and PMIX_SERVER_URI", "pmix", PMI_KIND_PMIX},
};

struct lone { /* a program of MPI */
    const struct family *family;
    const char *program; /* borrowed */
    char *library;
};

static bool look_at(const char *word, const struct app *app, struct lone *ret)
{
    static const char *const mpi[] = {"libmpi", NULL};
    AUTO_FREE char *path = NULL;
    if (program_path(app, word, false, &path, NULL) < 0)
        return false;
    ret->library = libraries_needed(path, mpi);
    for (size_t i = 0; ret->library && i < sizeof(families) / sizeof(families[0]); i++)
        if (strncmp(ret->library, families[i].library, strlen(families[i].library)) == 0) {
            ret->family = &families[i];
            ret->program = word;
            return true;
        }
    free(ret->library);
    return false;
}

/* The program may stand behind others: "env -i ./a". */
static bool find_in(const struct app *app, struct lone *ret)
{
    for (size_t k = 0; app->argv[k]; k++)
        if ((k == 0 || strchr(app->argv[k], '/')) && look_at(app->argv[k], app, ret))
            return true;
    return false;
}

static bool find(const struct step_plan *p, struct lone *ret)
{
    for (size_t i = 0; p->step.nranks > 1 && i < p->step.napps; i++)
        if (find_in(&p->step.apps[i], ret))
            return true;
    return false;
}

void lone_ranks_warn_of_mix(const struct step_plan *p)
{
    struct lone first = {.family = NULL}, l;
    bool is_mix = false;
    size_t n = p->step.pmi_is_expected && p->step.napps > 1 ? p->step.napps : 0;
    for (size_t i = 0; i < n && !is_mix; i++) {
        const char *const *words = (const char *const *)p->step.apps[i].argv;
        if (first.program && is_any_of(first.program, words)) /* its file has been read */
            continue;
        if (!find_in(&p->step.apps[i], &l))
            continue;
        if (!first.family) {
            first = l;
            continue;
        }
        is_mix = first.family->pmi != l.family->pmi;
        if (is_mix)
            log_warn(
                "'%s' is linked with %s and '%s' with %s: their ranks cannot be one world, and "
                "MPI_Init may wait for the others for ever; start them as two steps, or link "
                "both with one MPI",
                first.program, first.family->name, l.program, l.family->name);
        free(l.library);
    }
    free(first.library);
}

bool lone_ranks_foresee(const struct step_plan *p)
{
    struct lone l;
    if (p->step.pmi == (PMI_KIND_PMIX | PMI_KINDS_SIMPLE) || !find(p, &l))
        return false;
    bool is_lone = !(p->step.pmi & l.family->pmi);
    if (is_lone)
        log_warn("%u ranks of size 1: '%s' is linked with %s (%s), which looks for %s, and --pmi "
                 "leaves that out; each rank will be rank 0 of 1; add --pmi %s",
                 p->step.nranks, l.program, l.library, l.family->name, l.family->looks_for,
                 l.family->option);
    free(l.library);
    return is_lone;
}

void lone_ranks_say(const struct step_plan *p)
{
    struct lone l;
    if (!find(p, &l))
        return;
    log_note("%u ranks of size 1? '%s' is linked with %s (%s), which looks for %s, and no rank has "
             "connected: MPI_Init was not called, or did not find these variables of mprun's",
             p->step.nranks, l.program, l.library, l.family->name, l.family->looks_for);
    free(l.library);
}
