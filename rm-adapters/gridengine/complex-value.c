/* SPDX-License-Identifier: BSD-3-Clause */
/* complex-value.c - reads values digit by digit, because a double has too few digits */
#include "rm-adapters/gridengine/complex-value.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MILLION = 1000000 };

/* Refuse larger values, in millionths: a product with slots has to fit as well. */
static const unsigned __int128 largest = (unsigned __int128)INT64_MAX * MILLION;

static struct gridengine_value finite_value(unsigned __int128 millionths)
{
    return (struct gridengine_value){.set = 1,
                                     .whole = (uint64_t)(millionths / MILLION),
                                     .millionths = (uint32_t)(millionths % MILLION)};
}

/* Read a decimal at *at, in millionths, rounded up. -1: there is none, or it is too large. */
static int read_decimal(const char **at, unsigned __int128 *ret)
{
    const char *p = *at;
    unsigned __int128 v = 0, unit = MILLION;
    int rest = 0;
    if (!isdigit((unsigned char)*p))
        return -1;
    for (; isdigit((unsigned char)*p); p++) {
        v = v * 10 + (unsigned)(*p - '0') * (unsigned __int128)MILLION;
        if (v > largest)
            return -1;
    }
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++) {
            unit /= 10;
            v += (unsigned)(*p - '0') * unit;
            rest |= unit == 0 && *p != '0';
        }
    *at = p;
    *ret = v + (unsigned)rest;
    return 0;
}

static unsigned __int128 unit_of(char suffix)
{
    static const char letters[] = "KMGTPEkmgtpe";
    const char *at = suffix ? strchr(letters, suffix) : NULL;
    unsigned __int128 unit = 1;
    if (!at)
        return 0;
    for (long i = (at - letters) % 6; i >= 0; i--)
        unit *= at - letters < 6 ? 1024 : 1000;
    return unit;
}

/* "1:30:00", "5:00": each part counts 60 of the next. v is the first of them. */
static int read_time(const char *at, unsigned __int128 v, struct gridengine_value *ret)
{
    for (int parts = 1; *at == ':'; parts++) {
        unsigned __int128 next = 0;
        at++;
        if (parts == 3 || (isdigit((unsigned char)*at) && read_decimal(&at, &next) < 0))
            return -1;
        v = v * 60 + next;
        if (v > largest)
            return -1;
    }
    if (*at)
        return -1;
    *ret = finite_value(v);
    return 0;
}

static int read_hex(const char *text, struct gridengine_value *ret)
{
    size_t n = strspn(text, "0123456789abcdefABCDEF");
    uint64_t v = strtoull(text, NULL, 16);
    if (n == 0 || text[n] || v > INT64_MAX)
        return -1;
    *ret = finite_value((unsigned __int128)v * MILLION);
    return 0;
}

static int read_word(const char *text, struct gridengine_value *ret)
{
    if (strcasecmp(text, "infinity") == 0 || strcasecmp(text, "inf") == 0)
        *ret = (struct gridengine_value){.set = 1, .infinite = 1};
    else if (strcasecmp(text, "true") == 0)
        *ret = finite_value(MILLION);
    else if (strcasecmp(text, "false") == 0)
        *ret = finite_value(0);
    else
        return -1;
    return 0;
}

int gridengine_value_parse(const char *text, struct gridengine_value *ret)
{
    unsigned __int128 v;
    const char *at = text;
    if (text[0] == '0' && (text[1] | 0x20) == 'x')
        return read_hex(text + 2, ret);
    if (isalpha((unsigned char)*text))
        return read_word(text, ret);
    if (read_decimal(&at, &v) < 0)
        return -1;
    if (*at == ':')
        return read_time(at, v, ret);
    unsigned __int128 unit = *at ? unit_of(*at++) : 1;
    if (unit == 0 || *at || v > largest / unit)
        return -1;
    *ret = finite_value(v * unit);
    return 0;
}

int gridengine_value_times(const struct gridengine_value *v, uint64_t n, uint64_t *ret)
{
    if (!v->set || v->infinite)
        return -1;
    unsigned __int128 one = (unsigned __int128)v->whole * MILLION + v->millionths;
    if (n > 0 && one > largest / n)
        return -1;
    *ret = (uint64_t)((one * n + MILLION - 1) / MILLION);
    return 0;
}
