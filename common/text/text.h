/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h - makes texts by a format, by appending, or by writing
 *
 * All texts are the caller's to free. */
#pragma once

#include <stdio.h>

char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Append to a list, which is NULL while it is empty. */
void text_append(char **list, const char *separator, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct text_writer { /* private to text.c */
    char *text;
    size_t size;
    FILE *out;
};

/* Begin to write a text. Returns where to. */
FILE *text_begin(struct text_writer *w);
/* The whole text. */
char *text_end(struct text_writer *w);
