/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/step/shell-limits.h"

#include <errno.h>
#include <sys/stat.h>

static void raise_files_limit(const struct rlimit *inherited)
{
    struct rlimit files = {.rlim_cur = inherited->rlim_max, .rlim_max = inherited->rlim_max};
    setrlimit(RLIMIT_NOFILE, &files);
}

void inherited_replace(struct inherited *ret)
{
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (getrlimit(i, &ret->limits[i]) < 0)
            ret->limits[i].rlim_cur = ret->limits[i].rlim_max = RLIM_INFINITY;
    errno = 0;
    ret->nice = getpriority(PRIO_PROCESS, 0);
    ret->umask = umask(077);
    raise_files_limit(&ret->limits[RLIMIT_NOFILE]);
}
