/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void write_text(struct error *err, int code, const char *fmt, va_list ap)
{
    err->code = code;
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (err)
        write_text(err, code, fmt, ap);
    va_end(ap);
    errno = code;
    return -1;
}

int error_errno(struct error *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (err) {
        write_text(err, code, fmt, ap);
        size_t n = strlen(err->text);
        snprintf(err->text + n, sizeof(err->text) - n, ": %s%s", strerror(code),
                 code == EMFILE ? " (ulimit -n)" : "");
    }
    va_end(ap);
    errno = code;
    return -1;
}
