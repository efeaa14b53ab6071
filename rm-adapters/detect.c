/* SPDX-License-Identifier: BSD-3-Clause */
/* detect.c - the registered adapter that detects its manager */
#include <stdio.h>

#include "rm-adapters/adapter.h"

const struct rm_adapter *rm_adapter_detect(const struct host_request *request, char *reason,
                                           size_t n)
{
    char missing[200] = "", why[200];
    for (size_t i = 0; rm_adapters[i]; i++) {
        const struct rm_adapter *a = rm_adapters[i];
        why[0] = 0;
        if (a->detect(request, why, sizeof(why))) {
            snprintf(reason, n, "%s%s%s", why, *missing ? "; not " : "", missing);
            return a;
        }
        if (*why && !*missing)
            snprintf(missing, sizeof(missing), "%s: %.150s", a->name, why);
    }
    return NULL;
}
