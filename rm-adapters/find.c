/* SPDX-License-Identifier: BSD-3-Clause */
/* find.c - one of the registered adapters, by its name or by what it detects */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rm-adapters/adapter.h"

const struct rm_adapter *rm_adapter_find(const char *name)
{
    for (size_t i = 0; rm_adapters[i]; i++)
        if (strcmp(rm_adapters[i]->name, name) == 0)
            return rm_adapters[i];
    return NULL;
}

const struct rm_adapter *rm_adapter_detect(char *reason, size_t n)
{
    char missing[200] = "", why[200];
    for (size_t i = 0; rm_adapters[i]; i++) {
        const struct rm_adapter *a = rm_adapters[i];
        why[0] = 0;
        if (a->detect(why, sizeof(why))) {
            snprintf(reason, n, "%s%s%s", why, *missing ? "; not " : "", missing);
            return a;
        }
        if (*why && !*missing)
            snprintf(missing, sizeof(missing), "%s: %.150s", a->name, why);
    }
    return NULL;
}

int rm_adapter_refuse_hosts(const struct rm_adapter *a, const struct host_request *request,
                            struct error *err)
{
    if (request->nlists == 0 && request->nfiles == 0)
        return 0;
    return error_set(err, EINVAL, "%s: hosts cannot be named with '--rm %s'; leave one of both out",
                     request->nlists ? "--host" : "--hostfile", a->name);
}
