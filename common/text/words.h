/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h - splits and quotes words by the rules of a POSIX shell, and makes foreign text printable
 *
 * Blanks separate, '...' and "..." and \ quote; nothing else is special: no variables, no
 * patterns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

/* A NULL-terminated array, which the caller frees by words_free(). NULL with err: an open quote, or
 * no word at all. */
char **words_split(const char *text, struct error *err);
/* Free any NULL-terminated array of strings, and the strings. NULL is fine. */
void words_free(char **words);
/* Their number; NULL has none. */
static inline size_t words_count(char *const *words)
{
    size_t n = 0;
    while (words && words[n])
        n++;
    return n;
}

/* The word quoted so that sh and csh take it as it is; unquoted where nothing in it is special. The
 * caller frees it. */
char *word_quote(const char *word);

/* Foreign text for a message: its first 60 bytes, escaped by text_escape(). Returns buf. */
const char *word_shown(const char *text, size_t n, char buf[64]);

/* Length of the valid UTF-8 sequence at text[0..n) (no overlong form, no surrogate), or 0. */
size_t utf8_sequence(const char *text, size_t n);

/* Foreign text for a log or a terminal: printable ASCII, and UTF-8 but its control characters
 * (U+0080 to U+009F), stay; every other byte becomes '?', also a newline. */
void text_make_printable(char *text, size_t n);
/* The same as escapes: "\n", "\x1b"; backslashes stay as they are, so that text may be escaped
 * twice. to[size] gets as much as fits, with a NUL. Returns how many bytes of text that was. */
size_t text_escape(const char *text, size_t n, char *to, size_t size);

/* Does text begin with one of these? They end with NULL. */
bool begins_with_any(const char *text, const char *const beginnings[]);
/* Is it one of these words? They end with NULL; words may be NULL. */
bool is_any_of(const char *word, const char *const words[]);
