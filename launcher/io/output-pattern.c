/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/output-pattern.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "wire/messages/frame.h"

#define LETTERS "rRthNnpgqjJsu%"

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
                             "%%q (of the queue's command), "
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

static const char *number_text(int width, int64_t n, char text[32])
{
    snprintf(text, 32, "%0*lld", width > 1 ? width : 1, (long long)n);
    return text;
}

/* Returns what the letter stands for; numbers are written into text. The caller sees to 't'. */
static const char *letter_text(const struct output_names *o, char letter, int width, uint32_t host,
                               const struct bulk_header *h, const char *ranks, char text[32])
{
    struct output_rank rank = {.app = -1};
    if ((letter == 'p' || letter == 'g' || letter == 'q') && o->describe)
        o->describe(o->arg, h->name, &rank);
    switch (letter) {
    case 'r':
    case 'R':
        if (letter == 'R')
            width = digits(o->nranks ? o->nranks - 1 : 0);
        return ranks ? ranks : number_text(width, h->name.rank, text);
    case 'n':
        return number_text(width, host, text);
    case 'p':
        return rank.pid ? number_text(width, rank.pid, text) : "-";
    case 'g':
        return rank.app >= 0 ? number_text(width, rank.app, text) : "-";
    case 'q':
        return rank.command ? number_text(width, rank.command, text) : "-";
    case 'h':
    case 'N':
        return o->hosts[host];
    case 's':
        return h->stream == 1 ? "stdout" : "stderr";
    case 'u':
        return user_name();
    case '%':
        return "%";
    default: /* j, J */
        return o->job;
    }
}

void output_pattern_expand(const struct output_names *o, const char *pattern, uint32_t host,
                           const struct bulk_header *h, const char *ranks, struct line_clock *clock,
                           struct buffer *to)
{
    for (;;) {
        int width;
        char time[LINE_TIME], number[32];
        const char *letter = next_letter(pattern, &width);
        buffer_append(to, pattern, strcspn(pattern, "%"));
        if (!letter)
            return;
        if (*letter == 't' && clock) {
            line_clock_put(clock, h->time_ns, false, time);
            buffer_append(to, time, sizeof(time));
        } else {
            const char *text = letter_text(o, *letter, width, host, h, ranks, number);
            buffer_append(to, text, strlen(text));
        }
        pattern = letter + 1;
    }
}
