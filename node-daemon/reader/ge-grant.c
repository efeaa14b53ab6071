/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/ge-spool.h"

#include <string.h>

static const char variable[] = GRANT_VARIABLE "=";

int ge_grant_find(const char *environment, char ret[GRANT_TOKEN_MAX + 1])
{
    for (const char *line = environment; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, variable, sizeof(variable) - 1) != 0)
            continue;
        const char *value = line + sizeof(variable) - 1;
        size_t len = strcspn(value, "\n");
        len = len < GRANT_TOKEN_MAX ? len : GRANT_TOKEN_MAX; /* of one that is too long: too long */
        memcpy(ret, value, len);
        ret[len] = 0;
        return 0;
    }
    return -1;
}
