/* SPDX-License-Identifier: BSD-3-Clause */
/* error-context.c - apart from the rest, as root's processes have no use for it */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

int error_context(struct error *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    struct error inner = *err;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text) - 2, fmt, ap);
    va_end(ap);
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof(err->text) - n, ": %.*s", (int)(sizeof(err->text) - n) - 3,
             inner.text);
    return -1;
}
