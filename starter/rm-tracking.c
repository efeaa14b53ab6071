/* SPDX-License-Identifier: BSD-3-Clause */
/* rm-tracking.c - see rm-tracking.h */
#include "starter/rm-tracking.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/number.h"

/* The group in the directory's file `addgrpid`. What the user could have written counts for
 * nothing. */
static int group_of_task(const char *directory, gid_t *ret)
{
    char text[32];
    int64_t group;
    struct stat st;
    AUTO_CLOSE int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0 || (st.st_uid == getuid() && st.st_uid != 0) ||
        file_read_at(dir, "addgrpid", text, sizeof(text)) <= 0)
        return -1;
    text[strcspn(text, "\n")] = 0;
    if (number_parse(text, NULL, 1, INT32_MAX, &group, NULL) < 0)
        return -1;
    *ret = (gid_t)group;
    return 0;
}

static int have_group(gid_t group)
{
    int n = getgroups(0, NULL);
    AUTO_FREE gid_t *groups = n > 0 ? calloc((size_t)n, sizeof(*groups)) : NULL;
    n = groups ? getgroups(n, groups) : 0;
    for (int i = 0; i < n; i++)
        if (groups[i] == group)
            return 1;
    return 0;
}

int rm_tracking(char *buf, size_t n)
{
    const char *directory = getenv("SGE_JOB_SPOOL_DIR");
    gid_t group;
    if (!directory || directory[0] != '/' || group_of_task(directory, &group) < 0 ||
        !have_group(group))
        return 0;
    snprintf(buf, n, "rm:gid: Grid Engine counts them by their group %u", (unsigned)group);
    return 1;
}
