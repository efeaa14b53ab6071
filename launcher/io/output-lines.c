/* SPDX-License-Identifier: BSD-3-Clause */
/* output-lines.c - see output-lines.h */
#include "launcher/io/output-lines.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buffer.h"
#include "launcher/io/output-pattern.h"
#include "wire/messages/frame.h"

struct line { /* what a rank has begun to write */
    struct rank_name name;
    unsigned stream;
    char tag[RANK_NAME_TEXT + 16 > 256 ? RANK_NAME_TEXT + 16 : 256];
    size_t tag_len;
    struct buffer part;
    int continued;
    uint64_t time_ns; /* of its first byte */
};

struct output_lines {
    struct line_format format;
    const struct output_names *names;
    void *all;           /* tsearch()'s tree of lines, by rank and stream */
    time_t stamp_second; /* the second that `stamp` says */
    char stamp[24];
};

/* Any order does. */
static int by_rank_and_stream(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = memcmp(&x->name, &y->name, sizeof(x->name));
    return order ? order : (int)x->stream - (int)y->stream;
}

static void line_free(void *line)
{
    struct line *l = line;
    buffer_free(&l->part);
    free(l);
}

/* NULL: nothing is kept of this rank and stream. */
static struct line *find_line(struct output_lines *t, const struct bulk_header *h)
{
    const struct line key = {.name = h->name, .stream = h->stream};
    struct line **found = tfind(&key, &t->all, by_rank_and_stream);
    return found ? *found : NULL;
}

/* " [7]<stdout>", or what the pattern gives. */
static void make_tag(const struct output_lines *t, uint32_t host, const struct bulk_header *h,
                     struct line *l)
{
    char text[RANK_NAME_TEXT];
    const char *gap = t->format.timestamp ? " " : "";
    if (t->format.pattern &&
        output_pattern_expand(t->names, t->format.pattern, host, h, l->tag, sizeof(l->tag)) < 0)
        l->tag[0] = 0;
    else if (!t->format.pattern && t->format.tag)
        snprintf(l->tag, sizeof(l->tag), "%s[%s]<%s>", gap, rank_name_format(h->name, text),
                 h->stream == 1 ? "stdout" : "stderr");
    l->tag_len = strlen(l->tag);
}

static struct line *get_line(struct output_lines *t, uint32_t host, const struct bulk_header *h)
{
    struct line *l = find_line(t, h);
    if (l || !(l = calloc(1, sizeof(*l))))
        return l;
    l->name = h->name;
    l->stream = h->stream;
    make_tag(t, host, h, l);
    if (tsearch(l, &t->all, by_rank_and_stream))
        return l;
    free(l);
    return NULL;
}

/* "2026-08-02T10:11:12.123456"; the second's text is kept, because lines come in thousands. */
static size_t put_stamp(struct output_lines *t, uint64_t ns, char *to)
{
    time_t second = (time_t)(ns / 1000000000u);
    unsigned micro = (unsigned)(ns % 1000000000u / 1000);
    if (second != t->stamp_second || !t->stamp[0]) {
        struct tm tm;
        localtime_r(&second, &tm);
        strftime(t->stamp, sizeof(t->stamp), "%Y-%m-%dT%H:%M:%S.", &tm);
        t->stamp_second = second;
    }
    size_t n = strlen(t->stamp);
    memcpy(to, t->stamp, n);
    for (int i = 5; i >= 0; i--, micro /= 10)
        to[n + (size_t)i] = (char)('0' + micro % 10);
    return n + 6;
}

/* Queue the line's part and the text after it as one whole line. */
static int emit_line(struct output_lines *t, struct line *l, const uint8_t *text, size_t n,
                     struct buffer *to)
{
    size_t part = buffer_len(&l->part);
    uint8_t *start = buffer_reserve(to, sizeof(t->stamp) + 8 + l->tag_len + 2 + part + n + 1);
    uint8_t *at = start;
    if (!start)
        return -1;
    if (t->format.timestamp)
        at += put_stamp(t, l->time_ns, (char *)at);
    if (t->format.timestamp && t->format.pattern)
        *at++ = ' ';
    memcpy(at, l->tag, l->tag_len);
    at += l->tag_len;
    if (!t->format.pattern && (t->format.tag || t->format.timestamp)) {
        *at++ = l->continued ? '+' : ':';
        *at++ = ' ';
    }
    if (part)
        memcpy(at, buffer_ptr(&l->part), part);
    if (n)
        memcpy(at + part, text, n);
    at += part + n;
    *at++ = '\n';
    buffer_commit(to, (size_t)(at - start));
    buffer_free(&l->part);
    return 0;
}

/* Take one line, or a part of one, from the text: how many bytes, or -1. */
static ssize_t take_line(struct output_lines *t, struct line *l, const uint8_t *p, size_t n,
                         struct buffer *to)
{
    size_t room = OUTPUT_LINE_MAX - buffer_len(&l->part);
    const uint8_t *nl = memchr(p, '\n', n < room + 1 ? n : room + 1);
    if (nl) { /* a whole line */
        if (emit_line(t, l, p, (size_t)(nl - p), to) < 0)
            return -1;
        l->continued = 0;
        return nl - p + 1;
    }
    if (n > room) { /* too long: a piece of it */
        if (emit_line(t, l, p, room, to) < 0)
            return -1;
        l->continued = 1;
        return (ssize_t)room;
    }
    return buffer_append(&l->part, p, n) < 0 ? -1 : (ssize_t)n;
}

int lines_put(struct output_lines *t, uint32_t host, const struct bulk_header *h, const uint8_t *p,
              size_t n, struct buffer *to)
{
    struct line *l = get_line(t, host, h);
    if (!l)
        return -1;
    while (n > 0) {
        if (buffer_len(&l->part) == 0)
            l->time_ns = h->time_ns;
        ssize_t took = take_line(t, l, p, n, to);
        if (took < 0)
            return -1;
        p += took;
        n -= (size_t)took;
    }
    return 0;
}

int lines_end(struct output_lines *t, const struct bulk_header *h, struct buffer *to)
{
    int failed = 0;
    struct line *l = find_line(t, h);
    if (!l)
        return 0;
    if (buffer_len(&l->part) && to)
        failed = emit_line(t, l, NULL, 0, to);
    tdelete(l, &t->all, by_rank_and_stream);
    line_free(l);
    return failed;
}

struct output_lines *lines_create(const struct line_format *format,
                                  const struct output_names *names)
{
    struct output_lines *t = calloc(1, sizeof(*t));
    if (t)
        *t = (struct output_lines){.format = *format, .names = names};
    return t;
}

void lines_destroy(struct output_lines *t)
{
    if (t)
        tdestroy(t->all, line_free);
    free(t);
}
