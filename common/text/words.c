/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/text/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"

/* Copy the word at *at to `to` without its quotes; *at is behind it then. -1: a quote is open. */
static int copy_word(const char **at, char *to)
{
    char quote = 0;
    const char *p = *at;
    for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
        if (quote ? *p == quote : *p == '\'' || *p == '"') {
            quote = quote ? 0 : *p;
        } else if (*p == '\\' && quote != '\'' && p[1] && (!quote || strchr("\"\\$`", p[1]))) {
            *to++ = *++p;
        } else {
            *to++ = *p;
        }
    }
    *to = 0;
    *at = p;
    return quote ? -1 : 0;
}

static int add_word(char ***words, size_t n, const char **at, struct error *err)
{
    *words = must(reallocarray(*words, n + 2, sizeof(**words)));
    (*words)[n] = must(malloc(strlen(*at) + 1));
    (*words)[n + 1] = NULL;
    if (copy_word(at, (*words)[n]) < 0)
        return error_set(err, EINVAL, "a quote is open at the end");
    return 0;
}

char **words_split(const char *text, struct error *err)
{
    char **words = NULL;
    size_t n = 0;
    for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
        if (add_word(&words, n++, &text, err) < 0) {
            words_free(words);
            return NULL;
        }
    }
    if (n == 0)
        error_set(err, EINVAL, "it is empty");
    return words;
}

void words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

/* '=' and '%' begin something in some shell. */
static bool is_plain(const char *word, size_t at)
{
    char c = word[at];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("/._-+,:@", c)) || (c && at > 0 && strchr("=%", c));
}

/* csh looks for '!' within quotes as well: it stands outside of them, behind a backslash. */
char *word_quote(const char *word)
{
    size_t plain = 0;
    while (is_plain(word, plain))
        plain++;
    if (*word && !word[plain])
        return must(strdup(word));
    char *quoted = must(malloc(4 * strlen(word) + 3)), *to = quoted;
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'' || *word == '!') {
            memcpy(to, "'\\", 2);
            to[2] = *word;
            to[3] = '\'';
            to += 4;
        } else {
            *to++ = *word;
        }
    }
    *to++ = '\'';
    *to = 0;
    return quoted;
}

const char *word_shown(const char *text, size_t n, char buf[64])
{
    text_escape(text, n < 60 ? n : 60, buf, 64);
    return buf;
}

size_t utf8_sequence(const char *text, size_t n)
{
    static const unsigned smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0)
        return 0;
    size_t len = s[0] < 0x80       ? 1
                 : s[0] >> 5 == 6  ? 2
                 : s[0] >> 4 == 14 ? 3
                 : s[0] >> 3 == 30 ? 4
                                   : 0;
    if (len < 2 || len > n)
        return len < 2 ? len : 0;
    unsigned code = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    int surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < smallest[len] || code > 0x10ffff || surrogate ? 0 : len;
}

/* Length of the character at text[0..n) if it can be shown, or 0. */
static size_t shown_sequence(const char *text, size_t n)
{
    size_t len = utf8_sequence(text, n);
    int control = (len == 1 && ((unsigned char)*text < ' ' || *text == 0x7f)) ||
                  (len == 2 && *text == '\xc2' && (unsigned char)text[1] < 0xa0);
    return control ? 0 : len;
}

void text_make_printable(char *text, size_t n)
{
    for (size_t i = 0, len; i < n; i += len ? len : 1)
        if ((len = shown_sequence(text + i, n - i)) == 0)
            text[i] = '?';
}

size_t text_escape(const char *text, size_t n, char *to, size_t size)
{
    static const char letters[] = "abtnvfr"; /* from 7 on */
    size_t i = 0;
    for (size_t len; i < n && size > 4; i += len ? len : 1) {
        unsigned char c = (unsigned char)text[i];
        char escape[5];
        len = shown_sequence(text + i, n - i);
        if (!len)
            snprintf(escape, sizeof(escape), c >= 7 && c <= 13 ? "\\%c" : "\\x%02x",
                     c >= 7 && c <= 13 ? letters[c - 7] : c);
        size_t shown = len ? len : strlen(escape);
        memcpy(to, len ? text + i : escape, shown);
        to += shown;
        size -= shown;
    }
    *to = 0;
    return i;
}

bool begins_with_any(const char *text, const char *const beginnings[])
{
    for (; *beginnings; beginnings++)
        if (*text == **beginnings && strncmp(text, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

bool is_any_of(const char *word, const char *const words[])
{
    while (words && *words && strcmp(*words, word) != 0)
        words++;
    return words && *words;
}
