/* SPDX-License-Identifier: BSD-3-Clause */
/* u64.c - numbers in files of the kernel's */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/number.h"

int u64_parse(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    uint64_t v = strtoull(text, &end, 10);
    if (errno == 0 && isdigit((unsigned char)*text) && (*end == 0 || *end == '\n' || *end == ' ')) {
        *ret = v;
        return 0;
    }
    return error_number(ERANGE);
}

int flat_key_u64(const char *text, const char *key, uint64_t *ret)
{
    size_t len = strlen(key);
    for (; text; text = strchr(text, '\n')) {
        text += *text == '\n';
        const char *value = text + len;
        if (strncmp(text, key, len) == 0 && (*value == ' ' || *value == ':'))
            return u64_parse(value + strspn(value, ": \t"), ret);
    }
    return error_number(ENOENT);
}
