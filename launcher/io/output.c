/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - see output.h
 *
 * A sink is where bytes go: stdout, stderr, or both where they are one. Credit for a frame is due
 * when the sink has written up to the frame's end. Dues of one host and stream that follow each
 * other are put together, in steps small enough that the host goes on sending while the rest of its
 * window drains. */
#include "launcher/io/output.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "launcher/io/last-lines.h"
#include "launcher/io/line-merge.h"
#include "launcher/io/output-lines.h"
#include "launcher/io/output-sink.h"
#include "wire/flow-control.h"
#include "wire/messages/frame.h"

enum { STREAMS = 2 };

struct due {
    uint64_t end; /* of the sink's bytes */
    uint32_t host;
    uint32_t stream;
    uint64_t credit;
};

struct outlet {
    struct output *o;
    struct output_sink sink; /* zero: this descriptor is the other one */
    bool is_colored;         /* lines begin in the colour of their rank */
    int streams;             /* bit per stream (1, 2) that goes here */
    struct buffer dues;      /* of struct due */
};

struct known_rank { /* has started, and not ended its streams */
    struct rank_name name;
    struct output_rank rank;
    char *program; /* rank's */
    int open;      /* bit per stream */
};

struct output {
    struct output_setup setup;
    struct output_names names; /* as in setup, but of ranks in `known` as they were at first */
    void *known;               /* tsearch()'s tree, by name: what a rank has written may come when
                                  its world is gone. NULL: there are none, or nobody asks */
    struct output_events events;
    void *arg;
    struct outlet outlets[STREAMS];
    struct outlet *of[STREAMS];  /* the one of each stream */
    struct outlet *messages;     /* mprun's own words go there: standard error */
    uint64_t (*credit)[STREAMS]; /* of each host, kept back until it is worth a message */
    struct output_lines *lines;  /* NULL: nobody needs lines */
    struct line_writer writer;   /* how they look */
    struct last_lines *last;     /* NULL: nobody wants them */
    struct line_merge *merge;    /* NULL: each line is written as it comes */
    bool is_formatted;           /* lines differ from the bytes that came */
    struct buffer to_file;       /* lines of the frame that is being taken */
    struct output_files *files;  /* NULL: there are none */
    bool is_full[STREAMS];       /* a file could not be written: its stream is at its end */
    bool shows_progress;         /* the terminal's last line is output_progress()'s */
};

/* ---- ranks ----------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return memcmp(&((const struct known_rank *)a)->name, &((const struct known_rank *)b)->name,
                  sizeof(struct rank_name));
}

static struct known_rank *find_known(const struct output *o, struct rank_name name)
{
    const struct known_rank key = {.name = name};
    struct known_rank **found = tfind(&key, &o->known, by_name);
    return found ? *found : NULL;
}

static void known_free(void *rank)
{
    struct known_rank *k = rank;
    free(k->program);
    free(k);
}

static void describe_rank(void *arg, struct rank_name name, struct output_rank *ret)
{
    const struct output *o = arg;
    const struct known_rank *k = find_known(o, name);
    if (k)
        *ret = k->rank;
    else
        o->setup.names.describe(o->setup.names.arg, name, ret);
}

static void know_rank(struct output *o, struct rank_name name)
{
    if (o->names.describe != describe_rank || find_known(o, name))
        return;
    struct known_rank *k = must(calloc(1, sizeof(*k)));
    *k = (struct known_rank){.name = name, .rank = {.app = -1}, .open = 1 << 1 | 1 << 2};
    o->setup.names.describe(o->setup.names.arg, name, &k->rank);
    if (k->rank.program)
        k->rank.program = k->program = must(strdup(k->rank.program));
    must(tsearch(k, &o->known, by_name));
}

/* Lines that wait to be merged are shown later. */
static void forget_stream(struct output *o, const struct bulk_header *h)
{
    struct known_rank *k = o->merge ? NULL : find_known(o, h->name);
    if (!k || (k->open &= ~(1 << h->stream)))
        return;
    tdelete(k, &o->known, by_name);
    known_free(k);
}

static bool are_ranks_described(const struct output_options *o)
{
    const char *patterns[] = {o->lines.pattern, o->files.patterns[0], o->files.patterns[1]};
    bool is = o->lines.json;
    for (int i = 0; i < 3; i++)
        is |= patterns[i] && output_pattern_has(patterns[i], "pgq");
    return is;
}

/* ---- credit ---------------------------------------------------------------------------------- */

static uint32_t credit_step(const struct output *o)
{
    return o->setup.window / 4;
}

/* Credit goes back in steps of a quarter of the window: what is kept back can never stop a host. */
static void give_credit(struct output *o, uint32_t host, unsigned stream, uint64_t n)
{
    uint64_t *pending = &o->credit[host][stream - 1];
    *pending += n;
    if (*pending < credit_step(o))
        return;
    n = *pending;
    *pending = 0;
    o->events.consumed(o->arg, host, stream, n);
}

static struct due *last_due(struct outlet *l)
{
    if (buffer_len(&l->dues) == 0)
        return NULL;
    return (struct due *)(void *)(l->dues.data + l->dues.end) - 1;
}

/* Credit is due when all that was put in so far is written. */
static void add_due(struct outlet *l, uint32_t host, unsigned stream, uint64_t credit)
{
    struct due *last = last_due(l);
    uint64_t end = sink_end(&l->sink);
    struct due d = {end, host, stream, credit};
    if (sink_is_empty(&l->sink)) {
        give_credit(l->o, host, stream, credit);
        return;
    }
    if (last && last->host == host && last->stream == stream &&
        last->credit + credit <= credit_step(l->o)) {
        last->end = end;
        last->credit += credit;
        return;
    }
    buffer_append(&l->dues, &d, sizeof(d));
}

static void pay_dues(void *arg)
{
    struct outlet *l = arg;
    while (buffer_len(&l->dues)) {
        struct due d;
        memcpy(&d, buffer_ptr(&l->dues), sizeof(d));
        if (d.end > l->sink.written)
            return;
        buffer_consume(&l->dues, sizeof(d));
        give_credit(l->o, d.host, d.stream, d.credit);
    }
}

/* ---- the two streams ------------------------------------------------------------------------- */

static void tell_closed(void *arg, int code)
{
    struct error why;
    struct outlet *l = arg;
    for (unsigned stream = 1; stream <= STREAMS; stream++) {
        if (!(l->streams & 1 << stream))
            continue;
        error_errno(&why, code, "write to standard %s", stream == 1 ? "output" : "error");
        l->o->events.closed(l->o->arg, stream, &why);
    }
}

static void on_emptied(void *arg)
{
    struct outlet *l = arg;
    if (output_idle(l->o))
        l->o->events.drained(l->o->arg); /* may destroy it */
}

static const struct sink_events sink_events = {pay_dues, tell_closed, on_emptied};

/* As programs at a terminal have it (https://no-color.org). */
static bool is_colored(enum line_color when, int fd)
{
    const char *terminal = getenv("TERM"), *no = getenv("NO_COLOR");
    if (when != COLOR_AUTO)
        return when == COLOR_ALWAYS;
    return isatty(fd) && terminal && strcmp(terminal, "dumb") != 0 && !(no && *no);
}

static int open_outlets(struct output *o, struct loop *loop, struct error *err)
{
    struct stat st[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        struct outlet *l = &o->outlets[i];
        l->o = o;
        o->of[i] = l;
        if (fstat(o->setup.fds[i], &st[i]) < 0)
            return error_errno(err, errno, "use standard %s", i == 0 ? "output" : "error");
        bool is_shared = i > 0 && st[0].st_dev == st[i].st_dev && st[0].st_ino == st[i].st_ino &&
                         o->outlets[0].sink.way != WAY_DIRECT;
        o->messages = is_shared ? &o->outlets[0] : l;
        if (!is_shared)
            sink_open(&l->sink, loop, o->setup.fds[i], st[i].st_mode, &sink_events, l);
        if (is_shared || o->setup.options.merge_streams || o->setup.options.lines.json)
            o->of[i] = &o->outlets[0];
        l->is_colored = is_colored(o->setup.options.lines.color, o->setup.fds[i]);
        o->of[i]->streams |= 1 << (i + 1);
    }
    return 0;
}

/* ---- progress -------------------------------------------------------------------------------- */

void output_progress(struct output *o, const char *text)
{
    char line[100];
    if (text ? !output_idle(o) : !o->shows_progress)
        return;
    int n = snprintf(line, sizeof(line), "\r%.80s\033[K", text ? text : "");
    sink_put(&o->messages->sink, (const uint8_t *)line, (size_t)n);
    o->messages->sink.at_line_start = true; /* as soon as it is removed */
    o->shows_progress = text;
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* Does this stream go to mprun's own? It may go to files, too. */
static bool goes_on(const struct output *o, unsigned stream)
{
    return !output_files_take(o->files, stream) || o->setup.options.files.copy;
}

static void write_line(struct output *o, const struct output_line *line, const char *ranks)
{
    const struct outlet *outlet = o->of[line->head.stream - 1];
    struct output_sink *s = &o->of[line->head.stream - 1]->sink;
    struct buffer *to = sink_queue(s);
    if (to)
        line_write(&o->writer, line, ranks, outlet->is_colored, to);
}

static void take_line(void *arg, const struct output_line *line)
{
    struct output *o = arg;
    if (o->last)
        last_lines_add(o->last, line);
    if (o->is_formatted && output_files_take(o->files, line->head.stream))
        line_write(&o->writer, line, NULL, false, &o->to_file);
    if (!goes_on(o, line->head.stream))
        return;
    if (o->merge)
        line_merge_add(o->merge, line);
    else if (o->is_formatted)
        write_line(o, line, NULL);
}

static void line_merged(void *arg, const struct output_line *line, const char *ranks)
{
    write_line(arg, line, ranks);
}

/* What lines have put into the queues is written, unless something waits there anyway. */
static void flush_lines(struct output *o, const bool waited[STREAMS])
{
    for (int i = 0; i < STREAMS; i++)
        if (o->of[i] == &o->outlets[i] && !waited[i] && !sink_is_empty(&o->of[i]->sink))
            sink_flush(&o->of[i]->sink);
}

static const bool none_waited[STREAMS] = {false, false};

static void flush_merged(struct output *o)
{
    line_merge_flush(o->merge);
    flush_lines(o, none_waited);
}

static void merge_settled(void *arg)
{
    struct output *o = arg;
    flush_lines(o, none_waited);
    if (output_idle(o))
        o->events.drained(o->arg); /* may destroy it */
}

static const struct line_merge_events merge_events = {line_merged, merge_settled};

static void put_by_line(struct output *o, uint32_t host, const struct bulk_header *h,
                        const uint8_t *p, size_t n)
{
    const bool waited[STREAMS] = {!sink_is_empty(&o->of[0]->sink), !sink_is_empty(&o->of[1]->sink)};
    lines_put(o->lines, host, h, p, n);
    flush_lines(o, waited);
}

static void put_to_file(struct output *o, uint32_t host, const struct bulk_header *h,
                        const void *data, size_t n)
{
    struct error why;
    if (o->is_full[h->stream - 1] || output_files_put(o->files, host, h, data, n, &why) == 0)
        return;
    o->is_full[h->stream - 1] = true;
    o->events.closed(o->arg, h->stream, &why);
}

void output_rank_started(struct output *o, uint32_t host, struct rank_name name)
{
    struct bulk_header h = {.name = name};
    know_rank(o, name);
    for (h.stream = 1; h.stream <= STREAMS; h.stream++)
        if (output_files_take(o->files, h.stream))
            put_to_file(o, host, &h, NULL, 0);
}

void output_put(struct output *o, uint32_t host, const struct bulk_header *h, const void *data,
                size_t n)
{
    if (h->stream < 1 || h->stream > STREAMS)
        return;
    struct outlet *l = o->of[h->stream - 1];
    output_progress(o, NULL);
    if (o->lines)
        put_by_line(o, host, h, data, n);
    if (buffer_len(&o->to_file))
        put_to_file(o, host, h, buffer_ptr(&o->to_file), buffer_len(&o->to_file));
    else if (n && !o->is_formatted && output_files_take(o->files, h->stream))
        put_to_file(o, host, h, data, n);
    buffer_consume(&o->to_file, buffer_len(&o->to_file));
    if (goes_on(o, h->stream) && !o->is_formatted && !o->merge)
        sink_put(&l->sink, data, n);
    if (n && goes_on(o, h->stream))
        add_due(l, host, h->stream, output_cost(n));
    else if (n)
        give_credit(o, host, h->stream, output_cost(n));
    else
        forget_stream(o, h);
}

ssize_t output_move(struct output *o, uint32_t host, const struct bulk_header *h, int fd, size_t n)
{
    if (h->stream < 1 || h->stream > STREAMS || o->lines || output_files_take(o->files, h->stream))
        return -1;
    output_progress(o, NULL); /* the pipe's reader may write to the terminal */
    ssize_t moved = sink_move(&o->of[h->stream - 1]->sink, fd, n);
    /* the frame's headers are paid for with its last byte, here or in output_put() */
    if (moved > 0)
        give_credit(o, host, h->stream, (size_t)moved == n ? output_cost(n) : (uint64_t)moved);
    return moved;
}

void output_message(struct output *o, const char *text, size_t n)
{
    struct output_sink *s = &o->messages->sink;
    output_progress(o, NULL);
    flush_merged(o);
    if (!s->at_line_start)
        sink_put(s, (const uint8_t *)"\n", 1);
    sink_put(s, (const uint8_t *)text, n);
}

void output_show_last_lines(struct output *o, struct rank_name name, const char *host)
{
    AUTO(buffer_free) struct buffer text = {0};
    char rank[RANK_NAME_TEXT], line[400];
    int n = o->last ? last_lines_get(o->last, name, &text) : -1;
    rank_name_format(name, rank);
    if (n > 0) {
        snprintf(line, sizeof(line),
                 "mprun: the last lines of rank %s on %.200s, which failed first:\n", rank, host);
        output_message(o, line, strlen(line));
        output_message(o, (const char *)buffer_ptr(&text), buffer_len(&text));
        snprintf(line, sizeof(line), "mprun: end of the lines of rank %s\n", rank);
        output_message(o, line, strlen(line));
    } else if (n == 0) {
        snprintf(line, sizeof(line),
                 "mprun: rank %s on %.200s, which failed first, has written nothing\n", rank, host);
        output_message(o, line, strlen(line));
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void prepare_lines(struct output *o, struct loop *loop)
{
    const struct output_options *wish = &o->setup.options;
    o->names = o->setup.names;
    if (o->names.describe && are_ranks_described(wish)) {
        o->names.describe = describe_rank;
        o->names.arg = o;
    }
    o->writer = (struct line_writer){.format = &wish->lines, .names = &o->names};
    o->is_formatted = line_format_is_set(&wish->lines);
    if (wish->merge_lines)
        o->merge = line_merge_create(loop, o->setup.names.nranks, &merge_events, o);
    if (wish->first_failure)
        o->last = last_lines_create(o->setup.names.nranks);
    if (o->is_formatted || o->merge || o->last)
        o->lines = lines_create(take_line, o);
    if (wish->files.patterns[0] || wish->files.patterns[1])
        o->files =
            output_files_create(&wish->files, &o->names, wish->merge_streams, o->setup.umask);
}

struct output *output_create(struct loop *loop, const struct output_setup *setup,
                             const struct output_events *events, void *arg, struct error *err)
{
    struct output *o = must(calloc(1, sizeof(*o)));
    *o = (struct output){.setup = *setup, .events = *events, .arg = arg};
    o->credit = must(calloc(setup->nhosts + 1, sizeof(*o->credit)));
    prepare_lines(o, loop);
    if (open_outlets(o, loop, err) == 0)
        return o;
    output_destroy(o);
    return NULL;
}

void output_destroy(struct output *o)
{
    if (!o)
        return;
    int saved = errno;
    for (int i = 0; i < STREAMS; i++) {
        sink_close(&o->outlets[i].sink);
        buffer_free(&o->outlets[i].dues);
    }
    tdestroy(o->known, known_free);
    lines_destroy(o->lines);
    line_merge_destroy(o->merge);
    last_lines_destroy(o->last);
    buffer_free(&o->to_file);
    output_files_destroy(o->files);
    free(o->credit);
    free(o);
    errno = saved;
}

/* ---- how it stands --------------------------------------------------------------------------- */

bool output_is_closed(const struct output *o, unsigned stream)
{
    return stream >= 1 && stream <= STREAMS &&
           (o->is_full[stream - 1] || o->of[stream - 1]->sink.dead);
}

int output_idle(const struct output *o)
{
    return line_merge_is_empty(o->merge) && sink_is_empty(&o->outlets[0].sink) &&
           sink_is_empty(&o->outlets[1].sink);
}

void output_finish(struct output *o)
{
    struct bulk_header h;
    uint32_t host;
    while (o->lines && lines_find_open(o->lines, &host, &h))
        output_put(o, host, &h, NULL, 0);
    flush_merged(o);
}

uint64_t output_taken(const struct output *o)
{
    return o->outlets[0].sink.written + o->outlets[1].sink.written;
}

uint64_t output_drop(struct output *o)
{
    return sink_drop(&o->outlets[0].sink) + sink_drop(&o->outlets[1].sink);
}
