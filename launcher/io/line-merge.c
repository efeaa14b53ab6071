/* SPDX-License-Identifier: BSD-3-Clause */
/* line-merge.c - see line-merge.h
 *
 * Lines that wait are a queue, numbered from 1 on. A rank's stream knows the number of its last
 * line, and looks for its next one behind it; ranks that write the same lines find it at once. */
#include "launcher/io/line-merge.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/idset.h"
#include "common/loop.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "launcher/io/output-lines.h"
#include "launcher/tunables.h"

enum {
    WAITING_MAX = 512,              /* lines: each line of a rank may be compared with as many */
    WAITING_BYTES = 2 * 1024 * 1024 /* of texts and sets, and one line more */
};

struct waiting {
    struct output_line line; /* its text is `text` */
    uint8_t *text;
    uint64_t hash;
    struct idset ranks;
    size_t nranks;
    double due; /* of loop_now() */
};

struct line_merge {
    struct line_merge_events events;
    void *arg;
    uint32_t nranks;
    struct loop_timer timer;
    struct waiting queue[WAITING_MAX]; /* by number, modulo WAITING_MAX */
    uint64_t first, end;               /* numbers of those that wait */
    size_t bytes;
};

static struct waiting *at(struct line_merge *m, uint64_t number)
{
    return &m->queue[number % WAITING_MAX];
}

static bool is_same(const struct waiting *w, uint64_t hash, const struct output_line *l)
{
    const struct bulk_header *a = &w->line.head, *b = &l->head;
    return w->hash == hash && a->stream == b->stream && a->name.world == b->name.world &&
           a->name.incarnation == b->name.incarnation && w->line.continues == l->continues &&
           w->line.n == l->n && (l->n == 0 || memcmp(w->text, l->text, l->n) == 0);
}

static size_t size_of(const struct waiting *w)
{
    return w->line.n + w->ranks.nwords * sizeof(*w->ranks.words);
}

/* ---- out ------------------------------------------------------------------------------------- */

static void release_first(struct line_merge *m)
{
    struct waiting *w = at(m, m->first);
    AUTO_FREE char *set = idset_format(&w->ranks);
    uint32_t world = w->line.head.name.world;
    AUTO_FREE char *named = world > 0 ? text_format("%u.%s", world, set) : NULL;
    m->events.merged(m->arg, &w->line, named ? named : set);
    m->bytes -= size_of(w);
    idset_free(&w->ranks);
    free(w->text);
    *w = (struct waiting){0};
    m->first++;
}

static bool is_due(struct line_merge *m, double now)
{
    const struct waiting *w = at(m, m->first);
    return w->due <= now || (w->line.head.name.world == 0 && w->nranks == m->nranks);
}

static void release_due(struct line_merge *m, double now)
{
    while (m->first < m->end && (is_due(m, now) || m->bytes > WAITING_BYTES))
        release_first(m);
    if (m->first < m->end && !loop_timer_is_active(&m->timer))
        loop_timer_start(&m->timer, at(m, m->first)->due - now + 0.001, 0);
}

static void waited(void *arg)
{
    struct line_merge *m = arg;
    release_due(m, loop_now());
    m->events.settled(m->arg);
}

void line_merge_flush(struct line_merge *m)
{
    if (!m)
        return;
    while (m->first < m->end)
        release_first(m);
    loop_timer_stop(&m->timer);
}

bool line_merge_is_empty(const struct line_merge *m)
{
    return !m || m->first == m->end;
}

/* ---- in -------------------------------------------------------------------------------------- */

static struct waiting *append(struct line_merge *m, uint64_t hash, const struct output_line *l)
{
    uint8_t *text = must(malloc(l->n ? l->n : 1));
    if (m->end - m->first == WAITING_MAX)
        release_first(m);
    if (l->n)
        memcpy(text, l->text, l->n);
    struct waiting *w = at(m, m->end++);
    *w = (struct waiting){
        .line = *l, .text = text, .hash = hash, .due = loop_now() + MERGE_WAIT_SECONDS};
    w->line.text = text;
    w->line.merge_state = NULL; /* the stream may end before */
    m->bytes += size_of(w);
    return w;
}

void line_merge_add(struct line_merge *m, const struct output_line *l)
{
    uint64_t hash = hash_bytes(l->text, l->n);
    uint64_t number = *l->merge_state + 1 > m->first ? *l->merge_state + 1 : m->first;
    while (number < m->end && !is_same(at(m, number), hash, l))
        number++;
    struct waiting *w = number < m->end ? at(m, number) : append(m, hash, l);
    size_t before = size_of(w);
    idset_add(&w->ranks, l->head.name.rank);
    *l->merge_state = number;
    w->nranks++;
    m->bytes += size_of(w) - before;
    release_due(m, loop_now());
}

/* ---- life ------------------------------------------------------------------------------------ */

struct line_merge *line_merge_create(struct loop *loop, uint32_t nranks,
                                     const struct line_merge_events *events, void *arg)
{
    struct line_merge *m = must(calloc(1, sizeof(*m)));
    *m = (struct line_merge){.events = *events, .arg = arg, .nranks = nranks, .first = 1, .end = 1};
    loop_timer_init(&m->timer, loop, waited, m);
    return m;
}

void line_merge_destroy(struct line_merge *m)
{
    if (!m)
        return;
    loop_timer_stop(&m->timer);
    for (; m->first < m->end; m->first++) {
        idset_free(&at(m, m->first)->ranks);
        free(at(m, m->first)->text);
    }
    free(m);
}
