/* SPDX-License-Identifier: BSD-3-Clause */
/* error.h - what failed, as a number for code and a sentence for people
 *
 * Functions that can fail return -1 or NULL and fill an optional struct error. Every layer adds
 * what only it knows with error_context(); the system's reason stays last. Libraries never print
 * and never exit; a program reports an error once, and may end without memory (must.h). */
#pragma once

#include <errno.h>

struct error {
    int code; /* an errno value, 0 where none fits */
    char text[1024];
};

/* Set *err (may be NULL) and errno. Returns -1. */
int error_set(struct error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set(), with ": " and strerror(code) appended. */
int error_errno(struct error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "context: " before the sentence that is there. Returns -1. */
int error_context(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Where errno alone says why. Returns -1. */
static inline int error_number(int code)
{
    errno = code;
    return -1;
}

/* Where a pointer is returned: error_null(error_set(err, ...)) is NULL. */
static inline void *error_null(int failed)
{
    return (void *)0;
}
