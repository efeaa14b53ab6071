/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-clean.c - keeps or replaces one byte after the other */
#include "rm-adapters/gridengine/qstat-clean.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <stdbool.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/utf8.h"

/* Bytes of the longest replacement of one byte: "&amp;" */
enum { GROWTH = 5 };

static bool is_xml_char(unsigned code)
{
    return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0xd800) ||
           (code >= 0xe000 && code < 0xfffe) || (code >= 0x10000 && code <= 0x10ffff);
}

/* Length of the XML character at p, or 0. */
static size_t character(const char *p, size_t n)
{
    size_t len = utf8_sequence(p, n);
    if (len == 1)
        return is_xml_char((unsigned char)*p) ? 1 : 0;
    /* of longer sequences, XML lacks only U+FFFE and U+FFFF */
    return len == 3 && (memcmp(p, "\xef\xbf\xbe", 3) == 0 || memcmp(p, "\xef\xbf\xbf", 3) == 0)
               ? 0
               : len;
}

/* "#65;", "#x41;": is it a reference to a character that XML has? */
static bool is_numeric_reference(const char *p, size_t n)
{
    int hex = n > 2 && p[1] == 'x';
    unsigned code = 0;
    size_t at = hex ? 2 : 1, first = at;
    for (; at < n && at < first + 7 && isxdigit((unsigned char)p[at]); at++) {
        if (!hex && !isdigit((unsigned char)p[at]))
            return false;
        int digit = isdigit((unsigned char)p[at]) ? p[at] - '0' : (p[at] | 0x20) - 'a' + 10;
        code = code * (hex ? 16 : 10) + (unsigned)digit;
    }
    return at > first && at < n && p[at] == ';' && is_xml_char(code);
}

/* Does what follows "&" make it a reference? */
static bool is_reference(const char *p, size_t n)
{
    static const char *const names[] = {"amp;", "lt;", "gt;", "quot;", "apos;"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (n >= strlen(names[i]) && memcmp(p, names[i], strlen(names[i])) == 0)
            return true;
    return n > 2 && *p == '#' && is_numeric_reference(p, n);
}

static int begins_name(const char *p, size_t n)
{
    return n > 0 && (isalpha((unsigned char)*p) || *p == '_' || *p == ':');
}

static int begins_with(const char *p, size_t n, const char *word)
{
    return n >= strlen(word) && memcmp(p, word, strlen(word)) == 0;
}

static char *put(char *out, const char *text)
{
    return stpcpy(out, text);
}

/* The text to write for the "<" at p, and how many bytes of the input that takes up. */
static char *clean_less(char *out, const char *p, size_t n, size_t *ret_used)
{
    *ret_used = 1;
    if (begins_with(p, n, "<>")) {
        *ret_used = 2;
        return put(out, "<_>");
    }
    if (begins_with(p, n, "</>")) {
        *ret_used = 3;
        return put(out, "</_>");
    }
    size_t slash = begins_with(p, n, "</") ? 2 : 1;
    if (begins_name(p + slash, n - slash) || begins_with(p, n, "<?") || begins_with(p, n, "<!--") ||
        begins_with(p, n, "<![CDATA["))
        return put(out, "<");
    return put(out, "&lt;");
}

static char *clean_one(char *out, const char *p, size_t n, size_t *ret_used)
{
    if (*p == '<')
        return clean_less(out, p, n, ret_used);
    *ret_used = 1;
    if (*p == '&')
        return put(out, is_reference(p + 1, n - 1) ? "&" : "&amp;");
    size_t len = character(p, n);
    if (len == 0)
        return put(out, "\xef\xbf\xbd");
    *ret_used = len;
    return mempcpy(out, p, len);
}

char *gridengine_clean(const char *bytes, size_t n, size_t *ret_len, struct error *err)
{
    AUTO_FREE char *clean = malloc(GROWTH * n + 1);
    char *out = clean;
    if (!clean)
        return error_errno(err, ENOMEM, "read XML"), NULL;
    for (size_t at = 0, used; at < n; at += used) {
        if (begins_with(bytes + at, n - at, "<!DOCTYPE")) {
            error_set(err, EBADMSG, "it declares a document type, which qstat never does");
            return NULL;
        }
        out = clean_one(out, bytes + at, n - at, &used);
    }
    *out = 0;
    *ret_len = (size_t)(out - clean);
    return take_ptr(clean);
}
