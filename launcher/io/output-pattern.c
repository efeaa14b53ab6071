/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/output-pattern.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wire/messages/frame.h"

#define LETTERS "rRthNnjJsux%"

int output_pattern_check(const char *pattern, struct error *err)
{
    for (const char *at = pattern; (at = strchr(at, '%')); at++) {
        at += 1 + strspn(at + 1, "0123456789");
        if (!*at || !strchr(LETTERS, *at))
            return error_set(err, EINVAL,
                             "'%%%.1s' in '%.60s' means nothing; known are %%r (rank), %%h (host), "
                             "%%j (job), %%s (stream), %%n (number of the host), %%u (user), %%%%",
                             at, pattern);
    }
    return 0;
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

static void put_number(FILE *out, int width, uint32_t n)
{
    fprintf(out, "%0*u", width > 1 ? width : 1, n);
}

int output_pattern_expand(const struct output_names *o, const char *pattern, uint32_t host,
                          const struct bulk_header *h, char *buf, size_t size)
{
    FILE *out = fmemopen(buf, size, "we");
    if (!out)
        return -1;
    for (const char *at = pattern; *at; at++) {
        int width = 0;
        if (*at != '%') {
            fputc(*at, out);
            continue;
        }
        for (at++; *at >= '0' && *at <= '9'; at++)
            width = width < 10 ? width * 10 + (*at - '0') : width;
        if (*at == 'r' || *at == 't')
            put_number(out, width < 10 ? width : 10, h->name.rank);
        else if (*at == 'R')
            put_number(out, digits(o->nranks ? o->nranks - 1 : 0), h->name.rank);
        else if (*at == 'n')
            put_number(out, width < 10 ? width : 10, host);
        else if (*at == 'h' || *at == 'N')
            fputs(o->hosts[host], out);
        else if (*at == 'j' || *at == 'J' || *at == 'x')
            fputs(o->job, out);
        else if (*at == 's')
            fputs(h->stream == 1 ? "stdout" : "stderr", out);
        else if (*at == 'u')
            fputs(user_name(), out);
        else
            fputc('%', out);
    }
    fputc(0, out);
    bool failed = ferror(out) || ftell(out) >= (long)size;
    return fclose(out) != 0 || failed ? -1 : 0;
}
