/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/output-pattern.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "wire/messages/frame.h"

#define LETTERS "rRthNnpgjJsu%"

/* The next letter behind a '%', and the width before it; NULL: there is none. */
static const char *next_letter(const char *at, int *ret_width)
{
    *ret_width = 0;
    at = strchr(at, '%');
    if (!at)
        return NULL;
    for (at++; *at >= '0' && *at <= '9'; at++)
        *ret_width = *ret_width < 10 ? *ret_width * 10 + (*at - '0') : *ret_width;
    *ret_width = *ret_width < 10 ? *ret_width : 10;
    return at;
}

int output_pattern_check(const char *pattern, struct error *err)
{
    int width;
    for (const char *at = pattern; (at = next_letter(at, &width)); at++)
        if (!*at || !strchr(LETTERS, *at))
            return error_set(err, EINVAL,
                             "'%%%.1s' in '%.60s' means nothing; known are %%r (rank), %%h (host), "
                             "%%j (job), %%s (stream), %%p (process), %%g (number of the program), "
                             "%%t (time), %%n (number of the host), %%u (user), %%%%",
                             at, pattern);
    return 0;
}

char output_pattern_has(const char *pattern, const char *letters)
{
    int width;
    for (const char *at = pattern; (at = next_letter(at, &width)); at++)
        if (strchr(letters, *at))
            return *at;
    return 0;
}

void line_clock_put(struct line_clock *c, uint64_t ns, bool utc, char to[LINE_TIME])
{
    time_t second = (time_t)(ns / 1000000000u);
    unsigned micro = (unsigned)(ns % 1000000000u / 1000);
    if (second != c->second || !c->text[0]) {
        struct tm tm;
        if (utc)
            gmtime_r(&second, &tm);
        else
            localtime_r(&second, &tm);
        strftime(c->text, sizeof(c->text), "%Y-%m-%dT%H:%M:%S.", &tm);
        c->second = second;
    }
    memcpy(to, c->text, LINE_TIME - 6);
    for (int i = LINE_TIME - 1; i >= LINE_TIME - 6; i--, micro /= 10)
        to[i] = (char)('0' + micro % 10);
}

static int digits(uint32_t highest)
{
    int n = 1;
    for (; highest > 9; highest /= 10)
        n++;
    return n;
}

static const char *user_name(void)
{
    const struct passwd *pw = getpwuid(geteuid());
    return pw ? pw->pw_name : "";
}

static int put_text(struct buffer *to, const char *text)
{
    return buffer_append(to, text, strlen(text));
}

static int put_number(struct buffer *to, int width, int64_t n)
{
    char text[32];
    snprintf(text, sizeof(text), "%0*lld", width > 1 ? width : 1, (long long)n);
    return put_text(to, text);
}

static int put_letter(const struct output_names *o, char letter, int width, uint32_t host,
                      const struct bulk_header *h, const char *ranks, struct line_clock *clock,
                      struct buffer *to)
{
    struct output_rank rank = {.app = -1};
    char time[LINE_TIME];
    if (letter == 't' && clock) {
        line_clock_put(clock, h->time_ns, false, time);
        return buffer_append(to, time, sizeof(time));
    }
    if ((letter == 'p' || letter == 'g') && o->describe)
        o->describe(o->arg, h->name, &rank);
    switch (letter) {
    case 'r':
    case 'R':
        if (ranks)
            return put_text(to, ranks);
        return put_number(to, letter == 'R' ? digits(o->nranks ? o->nranks - 1 : 0) : width,
                          h->name.rank);
    case 'n':
        return put_number(to, width, host);
    case 'p':
        return rank.pid ? put_number(to, width, rank.pid) : put_text(to, "-");
    case 'g':
        return rank.app >= 0 ? put_number(to, width, rank.app) : put_text(to, "-");
    case 'h':
    case 'N':
        return put_text(to, o->hosts[host]);
    case 's':
        return put_text(to, h->stream == 1 ? "stdout" : "stderr");
    case 'u':
        return put_text(to, user_name());
    case '%':
        return put_text(to, "%");
    default: /* j, J */
        return put_text(to, o->job);
    }
}

int output_pattern_expand(const struct output_names *o, const char *pattern, uint32_t host,
                          const struct bulk_header *h, const char *ranks, struct line_clock *clock,
                          struct buffer *to)
{
    for (;;) {
        int width;
        size_t plain = strcspn(pattern, "%");
        const char *letter = next_letter(pattern, &width);
        if (buffer_append(to, pattern, plain) < 0 ||
            (letter && put_letter(o, *letter, width, host, h, ranks, clock, to) < 0))
            return -1;
        if (!letter)
            return 0;
        pattern = letter + 1;
    }
}
