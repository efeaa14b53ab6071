/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "common/must.h"
#include "common/text/words.h"

/* Open MPI 4 needs these, too, to know that it was started by a launcher: without the first it
 * takes every rank for a world of its own, without the second it may bind ranks itself. */
static const char *const open_mpi_env[] = {"OMPI_MCA_schizo=^orte",
                                           "OMPI_MCA_orte_externally_bound=1"};
enum { OPEN_MPI_ENV = sizeof(open_mpi_env) / sizeof(open_mpi_env[0]) };

const char **variables_of_ranks(char *const env[])
{
    size_t n = words_count(env), k = 0;
    const char **list = must(calloc(n + OPEN_MPI_ENV + 1, sizeof(*list)));
    for (size_t i = 0; i < n; i++)
        if (strncmp(env[i], "PMIX_RANK=", 10))
            list[k++] = env[i];
    for (size_t i = 0; n && i < OPEN_MPI_ENV; i++)
        list[k++] = open_mpi_env[i];
    return list;
}

/* ---- what ranks were given before ------------------------------------------------------------ */

static const char *value_in(const char *const list[], const char *variable)
{
    size_t n = strcspn(variable, "=") + 1;
    for (; *list; list++)
        if (strncmp(*list, variable, n) == 0)
            return *list + n;
    return NULL;
}

int variables_compare(char *const given[], const char *const real[], struct error *err)
{
    for (; *given; given++) {
        const char *has = strchr(*given, '=') + 1, *is = value_in(real, *given);
        if (!is || strcmp(is, has) != 0)
            return error_set(err, EINVAL,
                             "the PMIx library is set up differently from when mprun was built: it "
                             "sets %.*s%s where ranks have '%s'; write mprun's file anew with "
                             "'mppmi --variables > pmix-variables' in mppmi's directory",
                             (int)(has - *given), *given, is ? is : "(nothing)", has);
    }
    return 0;
}
