/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h - one text as words, and words as one text, by the rules of a POSIX shell
 *
 * Blanks separate, '...' and "..." and \ quote; nothing else is special: no variables, no
 * patterns. */
#ifndef COMMON_WORDS_H
#define COMMON_WORDS_H

#include <stddef.h>

#include "common/error.h"

/* A NULL-terminated array, or NULL with err: a quote that nothing closes, no word at all. */
char **words_split(const char *text, struct error *err);
void words_free(char **words); /* NULL is fine */

/* One word quoted so that sh and csh take it as it is; unquoted where nothing in it is special.
 * Caller frees. NULL: out of memory. */
char *word_quote(const char *word);

#endif
