/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything is read digit by digit: strtol() and its kin accept blanks, signs and locales that
 * nobody meant, and floating point would lose bytes of large sizes. */
#include "common/text/number.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Longer foreign text is cut in messages. */
#define QUOTED "'%.60s'"

static int refuse(struct error *err, const char *what, const char *text, const char *why)
{
    return error_set(err, EINVAL, "%s%s" QUOTED " %s", what ? what : "", what ? ": " : "", text,
                     why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read digits from *at into *ret. -1 when there are none, 1 when they do not fit. */
static int read_digits(const char **at, uint64_t *ret)
{
    const char *p = *at;
    uint64_t v = 0;
    int overflow = 0;
    if (!is_digit(*p))
        return -1;
    for (; is_digit(*p); p++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            overflow = 1;
    *at = p;
    *ret = v;
    return overflow;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static int refuse_number(struct error *err, const char *what, const char *text, const char *why,
                         int64_t min, int64_t max)
{
    char sentence[160];
    int n = snprintf(sentence, sizeof(sentence), "%s; expected is a whole number", why);
    if (max == INT64_MAX)
        snprintf(sentence + n, sizeof(sentence) - (size_t)n, " of at least %lld", (long long)min);
    else
        snprintf(sentence + n, sizeof(sentence) - (size_t)n, " from %lld to %lld", (long long)min,
                 (long long)max);
    return refuse(err, what, text, sentence);
}

int number_parse(const char *text, const char *what, int64_t min, int64_t max, int64_t *ret,
                 struct error *err)
{
    const char *at = text;
    int negative = *at == '-';
    uint64_t v;
    if (negative)
        at++;
    int status = read_digits(&at, &v);
    if (status < 0 || *at)
        return refuse_number(err, what, text, *text ? "is not a number" : "is empty", min, max);
    if (status > 0 || v > INT64_MAX)
        return refuse_number(err, what, text, negative ? "is too small" : "is too large", min, max);
    int64_t value = negative ? -(int64_t)v : (int64_t)v;
    if (value < min)
        return refuse_number(err, what, text, "is too small", min, max);
    if (value > max)
        return refuse_number(err, what, text, "is too large", min, max);
    *ret = value;
    return 0;
}

/* ---- decimals -------------------------------------------------------------------------------- */

/* "12.5": a whole part and the digits after the point as a fraction part/scale. */
struct decimal {
    uint64_t whole, part, scale;
};

/* 0; 1: too large; -1: not a decimal at *at. */
static int read_decimal(const char **at, struct decimal *ret)
{
    int status = read_digits(at, &ret->whole);
    ret->part = 0;
    ret->scale = 1;
    if (status < 0 || **at != '.')
        return status;
    const char *p = *at + 1;
    if (!is_digit(*p))
        return -1;
    for (; is_digit(*p); p++) {
        if (ret->scale > UINT64_MAX / 100) /* far below a byte, or a nanosecond */
            continue;
        ret->part = ret->part * 10 + (uint64_t)(*p - '0');
        ret->scale *= 10;
    }
    *at = p;
    return status;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static const char size_letters[] = "KMGTPE";

/* The power of 1024 that a suffix means, or -1. */
static int size_power(const char *suffix)
{
    if (!*suffix || strcasecmp(suffix, "b") == 0)
        return 0;
    for (int i = 0; i < 5; i++) {
        if ((*suffix | 0x20) != (size_letters[i] | 0x20))
            continue;
        const char *rest = suffix + 1;
        if (!*rest || strcasecmp(rest, "b") == 0 || strcasecmp(rest, "ib") == 0)
            return i + 1;
    }
    return -1;
}

int size_parse(const char *text, const char *what, uint64_t *ret_bytes, struct error *err)
{
    const char *at = text;
    struct decimal d;
    if (*text == '-')
        return refuse(err, what, text, "is negative; expected is a size such as 200M or 3.8GiB");
    int status = read_decimal(&at, &d);
    int power = status < 0 ? -1 : size_power(at);
    if (power < 0)
        return refuse(err, what, text,
                      *text ? "is not a size; expected is a number of bytes with K, M, G, T or P "
                              "(powers of 1024), such as 200M or 3.8GiB"
                            : "is empty; expected is a size such as 200M or 3.8GiB");
    unsigned __int128 unit = (unsigned __int128)1 << (10 * power);
    unsigned __int128 bytes = d.whole * unit + (d.part * unit + d.scale - 1) / d.scale;
    if (status > 0 || bytes > INT64_MAX)
        return refuse(err, what, text, "is too large; the largest size is below 8192P");
    if (bytes == 0)
        return refuse(err, what, text, "is zero; expected is a size such as 200M or 3.8GiB");
    *ret_bytes = (uint64_t)bytes;
    return 0;
}

const char *size_format(uint64_t bytes, char *buf, size_t n)
{
    int power = 0;
    double v = (double)bytes;
    /* what would round to 1024.0 is 1.0 of the next unit */
    while (v >= 1023.95 && power < 6 && bytes >= 1024) {
        v /= 1024;
        power++;
    }
    if (power == 0)
        snprintf(buf, n, "%u B", (unsigned)bytes);
    else if ((bytes & ((1ULL << (10 * power)) - 1)) == 0)
        snprintf(buf, n, "%.0f %ciB", v, size_letters[power - 1]);
    else
        snprintf(buf, n, "%.1f %ciB", v, size_letters[power - 1]);
    return buf;
}

/* ---- times ----------------------------------------------------------------------------------- */

static const double duration_max = 1e9; /* more than 30 years */

static const struct {
    const char *name;
    double seconds;
} duration_units[] = {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 0.001}};

enum { DURATION_UNITS = sizeof(duration_units) / sizeof(*duration_units) };

static double decimal_value(const struct decimal *d)
{
    return (double)d->whole + (double)d->part / (double)d->scale;
}

/* The unit whose whole name stands at `at`, with no letter behind it; DURATION_UNITS: none. */
static size_t duration_unit(const char *at)
{
    size_t len = strcspn(at, "0123456789.:");
    for (size_t i = 0; i < DURATION_UNITS; i++)
        if (strlen(duration_units[i].name) == len &&
            strncasecmp(at, duration_units[i].name, len) == 0)
            return i;
    return DURATION_UNITS;
}

/* "1h30m", units descending, each at most once; the rest of a text whose first number was read. */
static int read_units(const char *at, struct decimal d, double *ret)
{
    size_t next = 0;
    double sum = 0;
    for (;;) {
        size_t unit = duration_unit(at);
        if (unit == DURATION_UNITS || unit < next)
            return -1;
        sum += decimal_value(&d) * duration_units[unit].seconds;
        at += strlen(duration_units[unit].name);
        next = unit + 1;
        if (!*at)
            break;
        if (read_decimal(&at, &d) != 0)
            return -1;
    }
    *ret = sum;
    return 0;
}

/* "1:30:00" or "5:00": the rest of a text whose first number was read. */
static int read_clock(const char *at, struct decimal d, double *ret)
{
    double sum = (double)d.whole;
    if (d.scale != 1)
        return -1;
    for (int fields = 1; *at; fields++) {
        if (*at++ != ':' || fields == 3 || d.scale != 1 || read_decimal(&at, &d) != 0 ||
            d.whole > 59)
            return -1;
        sum = sum * 60 + decimal_value(&d);
    }
    *ret = sum;
    return 0;
}

int duration_parse(const char *text, const char *what, double *ret_seconds, struct error *err)
{
    const char *at = text;
    struct decimal d;
    double seconds = 0;
    if (*text == '-')
        return refuse(err, what, text, "is negative; expected is a time such as 90, 1h30m or 5:00");
    int status = read_decimal(&at, &d);
    if (status >= 0) {
        if (!*at)
            seconds = decimal_value(&d);
        else if ((*at == ':' ? read_clock : read_units)(at, d, &seconds) < 0)
            status = -1;
    }
    if (status < 0)
        return refuse(err, what, text,
                      *text ? "is not a time; expected are seconds, or a time such as 1h30m, 5:00 "
                              "(minutes:seconds) or 1:30:00"
                            : "is empty; expected is a time such as 90, 1h30m or 5:00");
    if (status > 0 || seconds > duration_max)
        return refuse(err, what, text, "is too large; the longest time is 1000000000 seconds");
    *ret_seconds = seconds;
    return 0;
}

const char *duration_format(double seconds, char *buf, size_t n)
{
    if (seconds < 59.995) {
        snprintf(buf, n, "%.2f s", seconds);
        return buf;
    }
    unsigned long long tenths = (unsigned long long)(seconds * 10 + 0.5), s = tenths / 10;
    int at = snprintf(buf, n, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
    if (seconds != (double)s)
        snprintf(buf + at, n - (size_t)at, ".%llu", tenths % 10);
    return buf;
}

uint64_t hash_bytes(const void *p, size_t n)
{
    const uint8_t *bytes = p;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}
