/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/must.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "common/log.h"

void out_of_memory(void)
{
    struct rlimit l;
    log_set_sink(NULL, NULL);
    if (getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
        log_error("out of memory; its address space is limited to %llu MiB (ulimit -v)",
                  (unsigned long long)l.rlim_cur >> 20);
    else
        log_error("out of memory");
    exit(125); /* EXIT_CODE_MPRUN of model/rank-end.h */
}
