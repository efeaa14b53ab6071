/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/evidence-sources.h"

#include <pwd.h>
#include <stddef.h>

enum { PASSWD_MAX = 16384 };

int owner_find(const char *name, uid_t *ret)
{
    char buf[PASSWD_MAX];
    struct passwd pw, *found = NULL;
    if (getpwnam_r(name, &pw, buf, sizeof(buf), &found) != 0 || !found || pw.pw_uid == 0)
        return -1;
    *ret = pw.pw_uid;
    return 0;
}
