/* SPDX-License-Identifier: BSD-3-Clause */
/* systemd's login manager names the control groups of sessions session-ID.scope, in cgroup v2 and
 * in v1's hierarchy "systemd". */
#include "common/login-session.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/fdio.h"

void login_session_find(char *buf, size_t n)
{
    char text[8192];
    buf[0] = 0;
    if (file_read_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) <= 0)
        return;
    for (const char *at = text; (at = strstr(at, "/session-")); at++) {
        size_t len = strcspn(at + 1, "/\n");
        if (len > strlen(".scope") && strncmp(at + 1 + len - 6, ".scope", 6) == 0) {
            snprintf(buf, n, "%.*s", (int)len, at + 1);
            return;
        }
    }
}
