/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix-variables.h - foresees the variables that the PMIx library will give a world's ranks
 *
 * All but a few values are the same for every start. When mprun is built, `mppmi --variables` has
 * the library make them and writes them into a file beside mppmi. */
#pragma once

#include <netinet/in.h>

struct pmix_world {
    const char *nspace, *host, *directory; /* directory: of mppmi's files */
    in_port_t port;                        /* at 127.0.0.1, where mppmi will listen */
};

/* Returns "NAME=value" texts, NULL-terminated; words_free() frees them. mppmi: its path. NULL: the
 * library has changed since the build, or is told to do something special. */
char **pmix_variables_foresee(const char *mppmi, const struct pmix_world *world);
