/* SPDX-License-Identifier: BSD-3-Clause */
/* start-words.c - what start clients write to their standard error
 *
 * Until a host's starter reports back its lines are held: they are the reason if it never does, and
 * else they are shown. Afterwards each is shown as it comes. Both are bounded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/log.h"
#include "launcher/run.h"

enum { HELD_MAX = 2000, LINE_MAX_ = 400, SHOWN_MAX = 40, JOINED_LINES = 3 };

struct start_words {
    struct host *host;
    int fd;
    struct loop_io *io;
    char line[LINE_MAX_ + 1]; /* what has no end yet */
    size_t n;
    char *held; /* lines, each ended by a newline; NULL: none */
    size_t nheld;
    unsigned lines, shown;
    int at_once; /* nothing is held any more */
};

/* What a client says while it ends well (qrsh of its connection) is of no use to anybody. */
static void show(struct start_words *w, const char *line)
{
    if (w->host->state >= AGENT_CLEANED && !w->host->failed)
        log_debug("host %s: %s", w->host->name, line);
    else if (w->shown++ < SHOWN_MAX)
        log_note("host %s: %s", w->host->name, line);
    else if (w->shown == SHOWN_MAX + 1)
        log_note("host %s: what its start client says further is not shown", w->host->name);
}

static void drop_oldest(struct start_words *w)
{
    const char *end = memchr(w->held, '\n', w->nheld);
    size_t n = (size_t)(end - w->held) + 1;
    memmove(w->held, w->held + n, w->nheld - n);
    w->nheld -= n;
    w->lines--;
}

/* Behind much noise of a login comes the reason: the last words are kept. */
static void hold(struct start_words *w, const char *line)
{
    size_t n = strlen(line);
    if (!w->held)
        w->held = malloc(HELD_MAX);
    if (!w->held)
        return;
    while (w->nheld + n + 2 > HELD_MAX)
        drop_oldest(w);
    memcpy(w->held + w->nheld, line, n);
    w->held[w->nheld + n] = '\n';
    w->nheld += n + 1;
    w->lines++;
}

static int is_noise(const struct start_words *w)
{
    const struct run *r = w->host->run;
    return !r->cmd.agent && r->adapter->is_noise && r->adapter->is_noise(w->line);
}

static void end_line(struct start_words *w)
{
    while (w->n && strchr(" \t\r", w->line[w->n - 1]))
        w->n--;
    w->line[w->n] = 0;
    if (w->n && is_noise(w))
        log_debug("host %s: %s", w->host->name, w->line);
    else if (w->n && w->at_once)
        show(w, w->line);
    else if (w->n)
        hold(w, w->line);
    w->n = 0;
}

static void take(struct start_words *w, const char *p, size_t n)
{
    for (; n; p++, n--) {
        if (*p == '\n' || w->n == LINE_MAX_)
            end_line(w);
        if (*p != '\n') /* nothing that a terminal would act on */
            w->line[w->n++] =
                (char)(((unsigned char)*p < ' ' && *p != '\t' && *p != '\r') || *p == 0x7f ? '?'
                                                                                           : *p);
    }
}

static void readable(void *arg, int fd, unsigned events)
{
    struct start_words *w = arg;
    char buf[2048];
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n > 0) {
        take(w, buf, (size_t)n);
        return;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    loop_io_destroy(w->io);
    w->io = NULL;
    end_line(w);
}

/* What is still in the pipe; who else may hold it open is not waited for. */
static void drain(struct start_words *w)
{
    char buf[2048];
    ssize_t n;
    for (int i = 0; w->io && i < 64 && (n = read(w->fd, buf, sizeof(buf))) > 0; i++)
        take(w, buf, (size_t)n);
    end_line(w);
}

void start_words_open(struct host *h, int fd)
{
    struct start_words *w = calloc(1, sizeof(*w));
    if (w) {
        w->host = h;
        w->fd = fd;
    }
    if (w && fd >= 0) {
        fd_set_nonblock(fd, 1);
        w->io = loop_io_create(h->run->loop, fd, LOOP_READ, readable, w);
    }
    if (!w || (fd >= 0 && !w->io)) {
        free(w);
        cleanup_close(&fd);
        return;
    }
    h->words = w;
}

void start_words_add(struct host *h, const void *p, size_t n)
{
    if (h->words)
        take(h->words, p, n);
}

/* Show all that is held, but the last `keep` lines. */
static void show_held(struct start_words *w, unsigned keep)
{
    size_t at = 0;
    for (; w->lines > keep; w->lines--) {
        char *end = memchr(w->held + at, '\n', w->nheld - at);
        *end = 0;
        show(w, w->held + at);
        at = (size_t)(end - w->held) + 1;
    }
    if (at)
        memmove(w->held, w->held + at, w->nheld - at);
    w->nheld -= at;
}

void start_words_show(struct host *h)
{
    if (h->words)
        show_held(h->words, 0);
}

void start_words_reported(struct host *h)
{
    struct start_words *w = h->words;
    if (!w)
        return;
    show_held(w, 0);
    free(take_ptr(w->held));
    w->at_once = 1;
}

void start_words_reason(struct host *h, char *buf, size_t n)
{
    struct start_words *w = h->words;
    buf[0] = 0;
    if (!w)
        return;
    w->at_once = 0;
    drain(w);
    if (w->lines > JOINED_LINES)
        show_held(w, 1);
    for (size_t at = 0, to = 0; at < w->nheld && to < n; at++) {
        int last = at + 1 == w->nheld;
        if (w->held[at] != '\n')
            to += (size_t)snprintf(buf + to, n - to, "%c", w->held[at]);
        else if (!last)
            to += (size_t)snprintf(buf + to, n - to, "; ");
    }
    w->nheld = w->lines = 0;
}

const char *start_words_held(struct host *h)
{
    struct start_words *w = h->words;
    if (!w)
        return "";
    drain(w);
    if (!w->held)
        return "";
    w->held[w->nheld] = 0;
    return w->held;
}

static void words_free(struct start_words *w)
{
    loop_io_destroy(w->io);
    cleanup_close(&w->fd);
    free(w->held);
    free(w);
}

void start_words_drop(struct host *h)
{
    if (h->words)
        words_free(take_ptr(h->words));
}

void start_words_close(struct host *h)
{
    struct start_words *w = take_ptr(h->words);
    if (!w)
        return;
    drain(w);
    show_held(w, 0);
    words_free(w);
}
