/* SPDX-License-Identifier: BSD-3-Clause */
/* host-list.c - several hosts in a message */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/name-run.h"
#include "launcher/run.h"

size_t hosts_list(const struct run *r, int (*which)(const struct host *), char *buf, size_t size)
{
    size_t n = 0;
    AUTO_FREE const char **names = calloc(r->nused + 1, sizeof(*names));
    buf[0] = 0;
    for (size_t i = 0; i < r->nused; i++)
        if (which(r->launched[i])) {
            if (names)
                names[n] = r->launched[i]->name;
            n++;
        }
    if (names)
        name_run_list(names, n, buf, size);
    return n;
}
