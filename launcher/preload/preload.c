/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.c - files that are brought to the hosts before the step: offered, and sent piece by piece
 * to those linked to mprun itself, as fast as the slowest of them takes them */
#include "launcher/preload/preload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "launcher/hosts/host-links.h"
#include "launcher/outcome/verdict.h"
#include "model/rank-end.h"
#include "wire/tunables.h"

struct top { /* a host with a link of its own, and those below it */
    int answered;
    size_t nwanted;
    unsigned char *wants; /* by source; NULL before the answer */
    uint64_t credit;
};

struct preload {
    struct host_table *hosts;
    struct verdict *verdict;
    bool begun; /* hosts have been offered the files */
    uint32_t world;
    struct preload_files files;
    struct top *tops; /* by launch_index */
    size_t sending;   /* which source */
    int fd;           /* its file; -1: not open */
    uint64_t at;      /* how far it was sent */
    uint64_t sent;    /* bytes on all links */
    int announced;
    uint8_t payload[PRELOAD_HEADER + PRELOAD_DATA_MAX];
};

static bool is_asked_for(const struct preload_options *o)
{
    return o->binary || o->libs || o->nfiles || o->clean;
}

int preload_create(struct host_table *hosts, struct verdict *verdict,
                   const struct preload_request *what, struct preload **ret, int *ret_code,
                   struct error *err)
{
    if (!is_asked_for(what->options))
        return 0;
    struct preload *pre = *ret = must(calloc(1, sizeof(*pre)));
    pre->hosts = hosts;
    pre->verdict = verdict;
    pre->fd = -1;
    pre->world = what->world;
    pre->tops = must(calloc(hosts->plan->nused + 1, sizeof(*pre->tops)));
    if (preload_files_collect(what, &pre->files, err) == 0)
        return 0;
    if (pre->files.no_program)
        *ret_code = pre->files.no_program;
    return -1;
}

void preload_destroy(struct preload *pre)
{
    if (!pre)
        return;
    for (size_t i = 0; pre->tops && i < pre->hosts->plan->nused; i++)
        free(pre->tops[i].wants);
    cleanup_close(&pre->fd);
    free(pre->tops);
    preload_files_free(&pre->files);
    free(pre);
}

/* ---- the offer ------------------------------------------------------------------------------- */

static void pack_content(const struct preload_source *s, Mprun__PreloadContent *to)
{
    mprun__preload_content__init(to);
    to->hash.data = (uint8_t *)(uintptr_t)s->what.hash;
    to->hash.len = CONTENT_HASH;
    to->size = s->what.size;
    to->executable = s->what.executable;
}

static void pack_place(const struct preload_target *t, Mprun__PreloadPlace *to)
{
    mprun__preload_place__init(to);
    to->content = (uint32_t)t->source;
    to->kind = t->kind;
    to->app = t->app;
    to->name = bytes_of(t->name);
    to->mode = t->mode;
}

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : "";
}

void preload_begin(struct preload *pre)
{
    const struct preload_files *f = &pre->files;
    Mprun__PreloadOffer m = MPRUN__PRELOAD_OFFER__INIT;
    AUTO_FREE Mprun__PreloadContent *contents = must(calloc(f->nsources + 1, sizeof(*contents)));
    AUTO_FREE Mprun__PreloadContent **content_list =
        must(calloc(f->nsources + 1, sizeof(contents)));
    AUTO_FREE Mprun__PreloadPlace *places = must(calloc(f->ntargets + 1, sizeof(*places)));
    AUTO_FREE Mprun__PreloadPlace **place_list = must(calloc(f->ntargets + 1, sizeof(places)));
    for (size_t i = 0; i < f->nsources; i++)
        pack_content(&f->sources[i], content_list[i] = &contents[i]);
    for (size_t i = 0; i < f->ntargets; i++)
        pack_place(&f->targets[i], place_list[i] = &places[i]);
    m.contents = content_list;
    m.n_contents = f->nsources;
    m.places = place_list;
    m.n_places = f->ntargets;
    m.cache = bytes_of(from_environment("MPRUN_PRELOAD_CACHE"));
    m.beside = bytes_of(from_environment("TMPDIR"));
    m.cache_limit = pre->hosts->plan->cmd->preload.limit;
    m.clean = pre->world == 0 && pre->hosts->plan->cmd->preload.clean;
    m.world = pre->world;
    pre->begun = true;
    hosts_broadcast(pre->hosts, FRAME_PRELOAD_OFFER, &m.base);
}

/* ---- sending --------------------------------------------------------------------------------- */

static int wants(const struct preload *pre, size_t top, size_t source)
{
    const struct top *t = &pre->tops[top];
    return pre->hosts->used[top]->link && t->nwanted > 0 && t->wants[source];
}

/* How many links a piece of this source goes over; -1: one of them has no room for it. */
static int room_for(const struct preload *pre, size_t source, size_t n)
{
    int links = 0;
    for (size_t i = 0; i < pre->hosts->plan->nused; i++) {
        if (!wants(pre, i, source))
            continue;
        if (pre->tops[i].credit < n)
            return -1;
        links++;
    }
    return links;
}

static int all_answered(const struct preload *pre)
{
    for (size_t i = 0; i < pre->hosts->plan->nused; i++)
        if (pre->hosts->used[i]->link && !pre->tops[i].answered)
            return 0;
    return 1;
}

int preload_done(const struct preload *pre)
{
    for (size_t i = 0; i < pre->hosts->plan->nused; i++)
        if (pre->hosts->used[i]->link && (!pre->tops[i].answered || pre->tops[i].nwanted > 0))
            return 0;
    return 1;
}

static int read_piece(struct preload *pre, const struct preload_source *s, size_t n,
                      struct error *err)
{
    if (pre->fd < 0 && (pre->fd = preload_source_open(s, err)) < 0)
        return -1;
    for (size_t done = 0; done < n;) {
        ssize_t got =
            pread(pre->fd, pre->payload + PRELOAD_HEADER + done, n - done, (off_t)(pre->at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_errno(err, errno, "read '%s' on mprun's host", s->path);
        if (got == 0)
            return error_set(err, EIO, "'%s' on mprun's host has become shorter", s->path);
        done += (size_t)got;
    }
    return 0;
}

static void send_piece(struct preload *pre, size_t n)
{
    struct preload_header h = {.content = (uint32_t)pre->sending, .offset = pre->at};
    preload_header_pack(&h, pre->payload);
    for (size_t i = 0; i < pre->hosts->plan->nused; i++) {
        if (!wants(pre, i, pre->sending))
            continue;
        host_send_down(pre->hosts->used[i], FRAME_PRELOAD_DATA, pre->payload, PRELOAD_HEADER + n);
        pre->tops[i].credit -= n;
        pre->sent += n;
    }
    pre->at += n;
}

/* 1: the next source; 0: no room for more; -1: failed. What a rank has asked for does not fail
 * here: hosts find that it is not what was offered, and do not start the ranks. */
static int send_source(struct preload *pre, const struct preload_source *s, struct error *err)
{
    while (pre->at < s->what.size) {
        uint64_t left = s->what.size - pre->at;
        size_t n = left < PRELOAD_DATA_MAX ? (size_t)left : PRELOAD_DATA_MAX;
        int links = room_for(pre, pre->sending, n);
        if (links < 0)
            return 0;
        if (links == 0)
            break;
        if (read_piece(pre, s, n, err) < 0) {
            if (pre->world == 0)
                return -1;
            memset(pre->payload + PRELOAD_HEADER, 0, n);
        }
        send_piece(pre, n);
    }
    int good = pre->world || pre->fd < 0 || preload_source_check(s, pre->fd, err) == 0;
    cleanup_close(&pre->fd);
    return good ? 1 : -1;
}

static void send_more(struct preload *pre)
{
    struct error e;
    int rc = 1;
    if (!all_answered(pre) || verdict_is_ending(pre->verdict))
        return;
    while (pre->sending < pre->files.nsources && rc > 0) {
        rc = send_source(pre, &pre->files.sources[pre->sending], &e);
        if (rc > 0) {
            pre->sending++;
            pre->at = 0;
        }
    }
    if (rc < 0)
        verdict_fail(pre->verdict, EXIT_CODE_MPRUN, "%s", e.text);
    if (preload_done(pre) && !pre->announced++)
        log_debug("preload: %zu file%s, %llu bytes sent from here", pre->files.ntargets,
                  plural(pre->files.ntargets), (unsigned long long)pre->sent);
}

/* ---- what hosts say -------------------------------------------------------------------------- */

static struct top *top_of(struct preload *pre, const struct host *h)
{
    return pre && pre->begun && h->link && h->state >= AGENT_PLACED ? &pre->tops[h->launch_index]
                                                                    : NULL;
}

/* The first answer says what is wanted, the second one that nothing is any more. */
static int take_wanted(const struct preload *pre, struct top *t, const Mprun__PreloadWanted *m)
{
    size_t n = pre->files.nsources;
    if (t->answered && (t->nwanted == 0 || m->n_contents > 0))
        return -1;
    if (!t->answered)
        t->wants = must(calloc(n + 1, 1));
    for (size_t i = 0; i < m->n_contents; i++) {
        if (m->contents[i] >= n)
            return -1;
        t->wants[m->contents[i]] = 1;
    }
    t->credit = t->answered ? t->credit : PRELOAD_WINDOW;
    t->answered = 1;
    t->nwanted = m->n_contents;
    return 0;
}

int preload_wanted(struct preload *pre, const struct host *h, const Mprun__PreloadWanted *m)
{
    struct top *t = top_of(pre, h);
    if (!t || take_wanted(pre, t, m) < 0)
        return -1;
    send_more(pre);
    return 0;
}

int preload_taken(struct preload *pre, const struct host *h, const Mprun__PreloadTaken *m)
{
    struct top *t = top_of(pre, h);
    if (!t || !t->answered || m->bytes > PRELOAD_WINDOW - t->credit)
        return -1;
    t->credit += m->bytes;
    send_more(pre);
    return 0;
}
