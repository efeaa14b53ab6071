/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
    char **grown = reallocarray(*words, n + 2, sizeof(*grown));
    if (!grown)
        return error_errno(err, ENOMEM, "split a command into words");
    *words = grown;
    grown[n + 1] = NULL;
    grown[n] = malloc(strlen(*at) + 1);
    if (!grown[n])
        return error_errno(err, ENOMEM, "split a command into words");
    if (copy_word(at, grown[n]) < 0)
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
        return strdup(word);
    char *quoted = malloc(4 * strlen(word) + 3), *to = quoted;
    if (!quoted)
        return NULL;
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
    size_t len = n < 60 ? n : 60;
    for (size_t i = 0; i < len; i++)
        buf[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    buf[len] = 0;
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

void text_make_printable(char *text, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_sequence(text + i, n - i);
        int control = text[i] == 0x7f || (len == 1 && (unsigned char)text[i] < ' ') ||
                      (len == 2 && text[i] == '\xc2' && (unsigned char)text[i + 1] < 0xa0);
        if (len == 0)
            len = 1, control = 1;
        if (control)
            memset(text + i, '?', len);
    }
}
