/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/output-lines.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/must.h"

struct stream { /* of a rank */
    struct output_line line;
    struct buffer part; /* what it has begun to write */
    uint64_t merge_state;
};

struct output_lines {
    output_line_fn take;
    void *arg;
    void *all; /* tsearch()'s tree of streams, by rank and number */
};

/* Any order does. */
static int by_rank_and_stream(const void *a, const void *b)
{
    const struct bulk_header *x = &((const struct stream *)a)->line.head;
    const struct bulk_header *y = &((const struct stream *)b)->line.head;
    int order = memcmp(&x->name, &y->name, sizeof(x->name));
    return order ? order : (int)x->stream - (int)y->stream;
}

static void stream_free(void *stream)
{
    struct stream *s = stream;
    buffer_free(&s->part);
    free(s);
}

/* NULL: nothing is kept of this rank and stream. */
static struct stream *find_stream(struct output_lines *t, const struct bulk_header *h)
{
    const struct stream key = {.line.head = *h};
    struct stream **found = tfind(&key, &t->all, by_rank_and_stream);
    return found ? *found : NULL;
}

static struct stream *get_stream(struct output_lines *t, uint32_t host, const struct bulk_header *h)
{
    struct stream *s = find_stream(t, h);
    if (s)
        return s;
    s = must(calloc(1, sizeof(*s)));
    s->line = (struct output_line){.head = *h, .host = host, .merge_state = &s->merge_state};
    must(tsearch(s, &t->all, by_rank_and_stream));
    return s;
}

/* The part and the text behind it are a line. */
static void emit(struct output_lines *t, struct stream *s, const uint8_t *text, size_t n,
                 bool has_newline)
{
    if (buffer_len(&s->part) && n)
        buffer_append(&s->part, text, n);
    bool whole = buffer_len(&s->part) == 0;
    s->line.text = whole ? text : buffer_ptr(&s->part);
    s->line.n = whole ? n : buffer_len(&s->part);
    s->line.has_newline = has_newline;
    t->take(t->arg, &s->line);
    s->line.continues = !has_newline;
    buffer_free(&s->part);
}

/* Where a line that goes on behind n bytes, with `next`, can be cut: not within a character. */
static size_t place_to_cut(const uint8_t *p, size_t n, uint8_t next)
{
    size_t at = n;
    while (at > 0 && n - at < 3 && ((at == n ? next : p[at]) & 0xc0) == 0x80)
        at--;
    return at < n && (p[at] & 0xc0) == 0x80 ? n : at;
}

/* The part, which is as long as a piece may be, and goes on with `next`, is a piece. */
static void emit_part(struct output_lines *t, struct stream *s, uint8_t next)
{
    uint8_t rest[3]; /* of a character */
    size_t cut = place_to_cut(buffer_ptr(&s->part), OUTPUT_LINE_MAX, next);
    size_t left = OUTPUT_LINE_MAX - cut;
    memcpy(rest, buffer_ptr(&s->part) + cut, left);
    s->part.end -= left;
    emit(t, s, NULL, 0, false);
    buffer_append(&s->part, rest, left);
}

/* Take one line, or a part of one, from the text: how many bytes. */
static size_t take_line(struct output_lines *t, struct stream *s, const uint8_t *p, size_t n)
{
    size_t room = OUTPUT_LINE_MAX - buffer_len(&s->part);
    const uint8_t *nl = memchr(p, '\n', n < room + 1 ? n : room + 1);
    if (nl) {
        emit(t, s, p, (size_t)(nl - p), true);
        return (size_t)(nl - p) + 1;
    }
    if (n > room && room == OUTPUT_LINE_MAX) {
        size_t cut = place_to_cut(p, room, p[room]);
        emit(t, s, p, cut, false);
        return cut;
    }
    buffer_append(&s->part, p, n < room ? n : room);
    if (n <= room)
        return n;
    emit_part(t, s, p[room]);
    return room;
}

static void end_stream(struct output_lines *t, struct stream *s)
{
    if (buffer_len(&s->part))
        emit(t, s, NULL, 0, false);
    tdelete(s, &t->all, by_rank_and_stream);
    stream_free(s);
}

void lines_put(struct output_lines *t, uint32_t host, const struct bulk_header *h, const uint8_t *p,
               size_t n)
{
    struct stream *s = n ? get_stream(t, host, h) : find_stream(t, h);
    if (s && n == 0)
        end_stream(t, s);
    while (n > 0) {
        if (buffer_len(&s->part) == 0)
            s->line.head.time_ns = h->time_ns;
        size_t took = take_line(t, s, p, n);
        p += took;
        n -= took;
    }
}

bool lines_find_open(const struct output_lines *t, uint32_t *ret_host, struct bulk_header *ret)
{
    if (!t->all)
        return false;
    const struct stream *s = *(struct stream *const *)t->all; /* tsearch()'s: the root's key */
    *ret_host = s->line.host;
    *ret = s->line.head;
    return true;
}

struct output_lines *lines_create(output_line_fn take, void *arg)
{
    struct output_lines *t = must(calloc(1, sizeof(*t)));
    *t = (struct output_lines){.take = take, .arg = arg};
    return t;
}

void lines_destroy(struct output_lines *t)
{
    if (t)
        tdestroy(t->all, stream_free);
    free(t);
}
