/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix-variables.h - the variables that the PMIx library will give a world's ranks, before it runs
 *
 * They are the same for every start but for a few values. `mppmi --variables` writes them when
 * mprun is built, with the library that they come from, into a file beside mppmi. */
#pragma once

#include <netinet/in.h>

struct pmix_world {
    const char *nspace, *host, *directory; /* of mppmi's files */
    in_port_t port;                        /* at 127.0.0.1, where mppmi will listen */
};

/* "NAME=value", NULL-terminated; words_free() frees it. mppmi: its path. NULL: they cannot be
 * foreseen, as the library is another one than at that time or is told to do something special. */
char **pmix_variables_foresee(const char *mppmi, const struct pmix_world *world);
