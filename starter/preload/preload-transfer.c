/* SPDX-License-Identifier: BSD-3-Clause */
/* preload-transfer.c - decides which of the offered contents a host wants, takes them, and passes
 * them on */
#include "starter/preload/preload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/files/own-name.h"
#include "common/files/path.h"
#include "common/text/text.h"
#include "model/rank-end.h"
#include "starter/links/child-hosts.h"
#include "starter/links/uplink.h"
#include "starter/services.h"
#include "starter/ending/step-end.h"
#include "wire/messages/values.h"
#include "wire/tunables.h"

static void fail(struct preload *pre, const struct error *err)
{
    char text[1200];
    if (pre->is_stopped)
        return;
    preload_stop(pre);
    snprintf(text, sizeof(text), "on %s: %s", pre->services->hostname, err->text);
    step_end_cannot_run(pre->services->end, EXIT_CODE_MPRUN, text);
}

/* A spawned world's content has failed: preload_install() reports why. */
static void fail_world(struct preload *pre, const struct error *err)
{
    if (pre->offer->world == 0)
        fail(pre, err);
    else if (!pre->why_not)
        pre->why_not = must(strdup(err->text));
}

static void fail_content(struct preload *pre, struct preload_content *c, struct error *err)
{
    error_context(err, "'%s' cannot be brought here", c->name ? c->name : "a file");
    fail_world(pre, err);
    cache_drop(take_ptr(c->writing));
    c->has_failed = true;
}

static void misunderstood(struct preload *pre, enum frame_type type, const char *whose)
{
    struct error e;
    error_set(&e, EPROTO, "protocol error: %s from %s that is not understood, or not in its place",
              frame_type_text(type), whose);
    fail(pre, &e);
}

/* ---- what is wanted -------------------------------------------------------------------------- */

static bool all_answered(const struct preload *pre)
{
    for (unsigned i = 0; i < pre->nbelow; i++)
        if (pre->children->children[i].link && !pre->below[i].has_answered)
            return false;
    return pre->looked == pre->n;
}

static bool below_wants(const struct preload *pre, unsigned place, uint32_t content)
{
    return pre->below[place].nwanted > 0 && pre->below[place].wants[content] &&
           pre->children->children[place].link;
}

static bool is_wanted(const struct preload *pre, uint32_t content)
{
    bool wanted = pre->contents[content].writing != NULL;
    for (unsigned i = 0; i < pre->nbelow; i++)
        wanted |= below_wants(pre, i, content);
    return wanted;
}

static void send_wanted(struct preload *pre)
{
    Mprun__PreloadWanted m = MPRUN__PRELOAD_WANTED__INIT;
    AUTO_FREE uint32_t *list = must(calloc(pre->n + 1, sizeof(*list)));
    m.contents = list;
    for (uint32_t i = 0; i < pre->n; i++)
        if ((pre->contents[i].is_wanted = is_wanted(pre, i)))
            list[m.n_contents++] = i;
    pre->has_answered = true;
    pre->is_done = m.n_contents == 0;
    uplink_send(pre->services->up, FRAME_PRELOAD_WANTED, &m.base);
}

/* Returns whether the content has come, or has failed and would have come by now. */
static bool is_over(const struct preload_content *c)
{
    return c->fd >= 0 || (c->has_failed && (!c->is_wanted || c->come == c->what.size));
}

/* Returns whether nothing is wanted here or below any more. */
static bool has_all(const struct preload *pre)
{
    for (uint32_t i = 0; i < pre->n; i++)
        if (!is_over(&pre->contents[i]))
            return false;
    for (unsigned i = 0; i < pre->nbelow; i++)
        if (pre->children->children[i].link && pre->below[i].nwanted > 0)
            return false;
    return true;
}

static void answer(struct preload *pre)
{
    if (!pre->is_stopped && !pre->is_done && all_answered(pre) &&
        (!pre->has_answered || has_all(pre)))
        send_wanted(pre);
}

/* ---- what is here ---------------------------------------------------------------------------- */

static int finish_if_whole(struct preload_content *c, struct error *err)
{
    if (c->come < c->what.size)
        return 0;
    c->fd = cache_finish(take_ptr(c->writing), err);
    return c->fd < 0 ? -1 : 0;
}

static int look_for(struct preload *pre, struct preload_content *c, struct error *err)
{
    if (!pre->cache) {
        c->has_failed = true;
        return 0;
    }
    c->fd = cache_find(pre->cache, &c->what);
    if (c->fd >= 0)
        return 0;
    c->writing = cache_create(pre->cache, &c->what, err);
    return c->writing ? finish_if_whole(c, err) : -1;
}

/* Looks for one content at a time: a large one takes a second to read. */
static void look(void *arg)
{
    struct preload *pre = arg;
    struct error e;
    if (pre->is_stopped)
        return;
    if (pre->looked == pre->n) {
        answer(pre);
    } else {
        struct preload_content *c = &pre->contents[pre->looked++];
        if (look_for(pre, c, &e) < 0)
            fail_content(pre, c, &e);
        loop_defer_schedule(&pre->look);
    }
}

/* ---- the offer ------------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
    struct stat st;
    return path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static struct cache *open_cache_in(const char *base, uint64_t limit, struct error *err)
{
    AUTO_FREE char *path = text_format("%s/mprun-cache.%u", base, (unsigned)geteuid());
    struct stat st;
    AUTO_FREE char *own = own_name(path, S_IFDIR, err);
    struct cache *c = own ? cache_open(own, limit, err) : NULL;
    /* A directory that is there but unusable is an error; if none can be made, use /tmp. */
    if (c || lstat(path, &st) == 0 || strcmp(base, "/tmp") == 0)
        return c;
    log_debug("%s; '/tmp' is used instead", err->text);
    return open_cache_in("/tmp", limit, err);
}

/* Opens the cache beside the directories of steps, so that a file can have a link in both. */
static struct cache *open_cache(const Mprun__PreloadOffer *o, struct error *err)
{
    AUTO_FREE char *named = bytes_dup(&o->cache), *base = bytes_dup(&o->beside);
    if (!named || !base)
        return error_null(error_set(err, EPROTO, "protocol error: a name with a NUL in it"));
    struct cache *c = named[0]
                          ? cache_open(named, o->cache_limit, err)
                          : open_cache_in(is_directory(base) ? base : "/tmp", o->cache_limit, err);
    if (!c)
        error_context(err, "open the cache of files (MPRUN_PRELOAD_CACHE sets another place)");
    return c;
}

static int check_place(const struct preload *pre, const Mprun__PreloadPlace *m)
{
    AUTO_FREE char *name = bytes_dup(&m->name);
    return name && path_is_beneath(name) && m->content < pre->n && m->kind < PRELOAD_KIND_COUNT &&
                   (m->kind == PRELOAD_DATA || !strchr(name, '/'))
               ? 0
               : -1;
}

static int take_contents(struct preload *pre, const Mprun__PreloadOffer *o)
{
    if (o->n_contents > PRELOAD_FILES_MAX || o->n_places > PRELOAD_FILES_MAX)
        return -1;
    pre->contents = must(calloc(o->n_contents + 1, sizeof(*pre->contents)));
    for (size_t i = 0; i < o->n_contents; i++) {
        const Mprun__PreloadContent *m = o->contents[i];
        struct preload_content *c = &pre->contents[pre->n++];
        c->fd = -1;
        if (m->hash.len != CONTENT_HASH || m->size > INT64_MAX)
            return -1;
        memcpy(c->what.hash, m->hash.data, CONTENT_HASH);
        c->what.size = m->size;
        c->what.executable = m->executable;
    }
    return 0;
}

static int name_contents(struct preload *pre, const Mprun__PreloadOffer *o)
{
    for (size_t i = o->n_places; i-- > 0;) {
        Mprun__PreloadPlace *m = o->places[i];
        if (check_place(pre, m) < 0)
            return -1;
        free(pre->contents[m->content].name);
        pre->contents[m->content].name = bytes_dup(&m->name);
    }
    return 0;
}

static void prepare_below(struct preload *pre)
{
    pre->nbelow = pre->children->nchildren;
    pre->below = must(calloc(pre->nbelow + 1, sizeof(*pre->below)));
    for (unsigned i = 0; i < pre->nbelow; i++) {
        pre->below[i].wants = must(calloc(pre->n + 1, 1));
        pre->below[i].ncontents = pre->n;
        pre->below[i].credit = PRELOAD_WINDOW;
    }
}

static void begin(struct preload *pre)
{
    struct error e;
    loop_defer_init(&pre->look, pre->services->loop, look, pre);
    prepare_below(pre);
    if (!(pre->cache = open_cache(pre->offer, &e)))
        fail_world(pre, &e);
    else if (pre->offer->clean)
        cache_empty(pre->cache);
    loop_defer_schedule(&pre->look);
}

int preload_take_offer(struct preload *pre, const struct starter_services *services,
                       struct child_hosts *children, const uint8_t *p, size_t n)
{
    if (pre->offer && !pre->is_stopped)
        return -1;
    preload_close(pre);
    pre->services = services;
    pre->children = children;
    STAILQ_INIT(&pre->pieces);
    pre->offer = mprun__preload_offer__unpack(NULL, n, p);
    if (!pre->offer || take_contents(pre, pre->offer) < 0 || name_contents(pre, pre->offer) < 0)
        return -1;
    begin(pre);
    return 0;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void say_taken(struct preload *pre, uint64_t bytes)
{
    Mprun__PreloadTaken m = MPRUN__PRELOAD_TAKEN__INIT;
    m.bytes = bytes;
    uplink_send(pre->services->up, FRAME_PRELOAD_TAKEN, &m.base);
}

static bool may_pass_on(const struct preload *pre, uint32_t content, size_t n)
{
    for (unsigned i = 0; i < pre->nbelow; i++)
        if (below_wants(pre, i, content) && pre->below[i].credit < n)
            return false;
    return true;
}

/* Passes pieces on to the hosts below that want them; the slowest of them sets the pace. */
static void pass_on(struct preload *pre)
{
    struct preload_piece *piece;
    struct preload_header h;
    while ((piece = STAILQ_FIRST(&pre->pieces))) {
        preload_header_unpack(piece->payload, piece->n, &h, NULL);
        size_t n = piece->n - PRELOAD_HEADER;
        if (!may_pass_on(pre, h.content, n))
            return;
        for (unsigned i = 0; i < pre->nbelow; i++) {
            if (!below_wants(pre, i, h.content))
                continue;
            child_hosts_send(pre->children, i, FRAME_PRELOAD_DATA, piece->payload, piece->n);
            pre->below[i].credit -= n;
        }
        STAILQ_REMOVE_HEAD(&pre->pieces, next);
        pre->queued -= n;
        free(piece);
        say_taken(pre, n);
    }
}

static void keep_piece(struct preload *pre, const uint8_t *p, size_t n)
{
    struct preload_piece *piece = must(malloc(sizeof(*piece) + n));
    piece->n = n;
    memcpy(piece->payload, p, n);
    STAILQ_INSERT_TAIL(&pre->pieces, piece, next);
    pre->queued += n - PRELOAD_HEADER;
}

static int write_here(struct preload_content *c, const uint8_t *p, size_t n, struct error *err)
{
    if (!c->writing)
        return 0;
    return cache_write(c->writing, p, n, err) < 0 ? -1 : finish_if_whole(c, err);
}

static bool is_expected(const struct preload *pre, const struct preload_header *h, size_t n)
{
    if (!pre->has_answered || h->content >= pre->n || pre->queued + n > PRELOAD_WINDOW)
        return false;
    const struct preload_content *c = &pre->contents[h->content];
    return c->is_wanted && h->offset == c->come && n <= c->what.size - c->come;
}

void preload_data(struct preload *pre, const uint8_t *p, size_t n)
{
    struct preload_header h;
    struct error e;
    if (!pre->offer || pre->is_stopped)
        return;
    if (preload_header_unpack(p, n, &h, &e) < 0 || !is_expected(pre, &h, n - PRELOAD_HEADER)) {
        misunderstood(pre, FRAME_PRELOAD_DATA, "mprun");
        return;
    }
    struct preload_content *c = &pre->contents[h.content];
    c->come += n - PRELOAD_HEADER;
    if (write_here(c, p + PRELOAD_HEADER, n - PRELOAD_HEADER, &e) < 0)
        fail_content(pre, c, &e);
    if (pre->is_stopped)
        return;
    keep_piece(pre, p, n);
    pass_on(pre);
    answer(pre);
}

/* ---- from below ------------------------------------------------------------------------------ */

/* A child's first answer says what it wants, its second that it wants nothing more. */
static int take_wanted(void *child, void *message)
{
    struct preload_below *b = child;
    const Mprun__PreloadWanted *m = message;
    if (b->has_answered && (b->nwanted == 0 || m->n_contents > 0))
        return -1;
    for (size_t i = 0; i < m->n_contents; i++) {
        if (m->contents[i] >= b->ncontents)
            return -1;
        b->wants[m->contents[i]] = 1;
    }
    b->has_answered = true;
    b->nwanted = m->n_contents;
    return 0;
}

static int take_taken(void *child, void *message)
{
    struct preload_below *b = child;
    const Mprun__PreloadTaken *m = message;
    if (m->bytes > PRELOAD_WINDOW - b->credit)
        return -1;
    b->credit += m->bytes;
    return 0;
}

static const struct frame_handler handlers[FRAME_TYPE_COUNT] = {
    [FRAME_PRELOAD_WANTED] = {.take = take_wanted},
    [FRAME_PRELOAD_TAKEN] = {.take = take_taken},
};

void preload_from_child(struct preload *pre, unsigned place, enum frame_type type, const uint8_t *p,
                        size_t n)
{
    if (pre->is_stopped || place >= pre->nbelow)
        return;
    if (frame_handle(handlers, type, &pre->below[place], p, n) < 0) {
        misunderstood(pre, type, "a host below");
        return;
    }
    pass_on(pre);
    answer(pre);
}

/* ---- the end --------------------------------------------------------------------------------- */

void preload_stop(struct preload *pre)
{
    struct preload_piece *piece;
    pre->is_stopped = true;
    for (size_t i = 0; i < pre->n; i++) {
        cache_drop(take_ptr(pre->contents[i].writing));
        cleanup_close(&pre->contents[i].fd);
    }
    while ((piece = STAILQ_FIRST(&pre->pieces))) {
        STAILQ_REMOVE_HEAD(&pre->pieces, next);
        free(piece);
    }
}

void preload_close(struct preload *pre)
{
    preload_stop(pre);
    loop_defer_stop(&pre->look);
    for (unsigned i = 0; pre->below && i < pre->nbelow; i++)
        free(pre->below[i].wants);
    for (size_t i = 0; i < pre->n; i++)
        free(pre->contents[i].name);
    free(pre->below);
    free(pre->contents);
    cache_close(pre->cache);
    free(pre->why_not);
    mprun__preload_offer__free_unpacked(pre->offer, NULL);
    *pre = (struct preload){.offer = NULL};
}
