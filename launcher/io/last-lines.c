/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/last-lines.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/must.h"
#include "launcher/io/line-format.h"
#include "launcher/io/output-lines.h"

enum {
    ALL_BYTES = 64 * 1024 * 1024, /* of all ranks together, */
    LEAST_BYTES = 512,            /* but so much of each */
};

struct tail { /* of a rank */
    struct rank_name name;
    struct buffer text; /* whole lines, as they are shown */
};

struct last_lines {
    void *all;    /* tsearch()'s tree of tails, by name */
    size_t bytes; /* of one rank */
};

static int by_name(const void *a, const void *b)
{
    return memcmp(&((const struct tail *)a)->name, &((const struct tail *)b)->name,
                  sizeof(struct rank_name));
}

static void tail_free(void *tail)
{
    struct tail *t = tail;
    buffer_free(&t->text);
    free(t);
}

static struct tail *find(const struct last_lines *l, struct rank_name name)
{
    const struct tail key = {.name = name};
    struct tail **found = tfind(&key, &l->all, by_name);
    return found ? *found : NULL;
}

static struct tail *get(struct last_lines *l, struct rank_name name)
{
    struct tail *t = find(l, name);
    if (t)
        return t;
    t = must(calloc(1, sizeof(*t)));
    t->name = name;
    must(tsearch(t, &l->all, by_name));
    return t;
}

static void drop_first_line(struct buffer *b)
{
    const uint8_t *newline = memchr(buffer_ptr(b), '\n', buffer_len(b));
    buffer_consume(b, newline ? (size_t)(newline + 1 - buffer_ptr(b)) : buffer_len(b));
}

void last_lines_add(struct last_lines *l, const struct output_line *line)
{
    static const struct line_format format = {.tag = true};
    struct line_writer writer = {.format = &format};
    struct output_line end = *line; /* of a long line, its end */
    struct tail *t = get(l, line->head.name);
    size_t room = l->bytes / 2;
    if (end.n > room) {
        end.text += end.n - room;
        end.n = room;
        end.continues = true;
    }
    line_write(&writer, &end, NULL, false, &t->text);
    while (buffer_len(&t->text) > l->bytes)
        drop_first_line(&t->text);
}

static int count_lines(const struct buffer *b)
{
    int n = 0;
    for (size_t i = 0; i < buffer_len(b); i++)
        n += buffer_ptr(b)[i] == '\n';
    return n;
}

int last_lines_get(const struct last_lines *l, struct rank_name name, struct buffer *to)
{
    struct tail *t = find(l, name);
    int n = t ? count_lines(&t->text) : 0;
    for (; n > LAST_LINES; n--)
        drop_first_line(&t->text);
    if (n > 0)
        buffer_append(to, buffer_ptr(&t->text), buffer_len(&t->text));
    return n;
}

struct last_lines *last_lines_create(uint32_t nranks)
{
    struct last_lines *l = must(calloc(1, sizeof(*l)));
    l->bytes = ALL_BYTES / (nranks ? nranks : 1);
    l->bytes = l->bytes > LAST_LINES_BYTES ? LAST_LINES_BYTES : l->bytes;
    l->bytes = l->bytes < LEAST_BYTES ? LEAST_BYTES : l->bytes;
    return l;
}

void last_lines_destroy(struct last_lines *l)
{
    if (l)
        tdestroy(l->all, tail_free);
    free(l);
}
