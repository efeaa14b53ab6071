/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->code = code;
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
    }
    errno = code;
    return -1;
}

int error_errno(struct error *err, int code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->code = code;
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
        size_t n = strlen(err->text);
        snprintf(err->text + n, sizeof(err->text) - n, ": %s", strerror(code));
    }
    errno = code;
    return -1;
}

int error_context(struct error *err, const char *fmt, ...)
{
    if (err) {
        char old[sizeof(err->text)], context[sizeof(err->text)];
        va_list ap;
        memcpy(old, err->text, sizeof(old));
        va_start(ap, fmt);
        vsnprintf(context, sizeof(context), fmt, ap);
        va_end(ap);
        size_t n = strnlen(context, sizeof(context));
        if (n > sizeof(err->text) - 3)
            n = sizeof(err->text) - 3;
        memcpy(err->text, context, n);
        int room = (int)(sizeof(err->text) - n) - 3;
        snprintf(err->text + n, sizeof(err->text) - n, ": %.*s", room, old);
    }
    return -1;
}
