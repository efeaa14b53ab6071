/* SPDX-License-Identifier: BSD-3-Clause */
/* peers.c - the mpruns of the job and its agents: what they are told, and how it comes that one has
 * gone. An mprun on another host is told it through the agent there, so one of them can take the
 * other with it. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "starter/holder/holder-private.h"
#include "wire/little-endian.h"

/* ---- mpruns ---------------------------------------------------------------------------------- */

/* Messages for an mprun that reads none: with more it counts as gone. */
enum { WAITING_MAX = 4096 };

/* A socket takes the messages of some 250 hosts at once. */
static void keep_message(struct asker *a, const struct holder_message *m)
{
    struct waiting *w = must(malloc(offsetof(struct waiting, message.data) + m->size));
    w->next = NULL;
    memcpy(&w->message, m, offsetof(struct holder_message, data) + m->size);
    *a->last = w;
    a->last = &w->next;
    a->is_gone = ++a->nwaiting > WAITING_MAX;
}

static void forget_first(struct asker *a)
{
    struct waiting *w = a->waiting;
    a->waiting = w->next;
    if (!a->waiting)
        a->last = &a->waiting;
    a->nwaiting--;
    free(w);
}

/* Sends a message by the agent of the mprun's host; m NULL: nothing more comes. */
static bool send_through(struct asker *a, const struct holder_message *m)
{
    uint8_t packed[4 + HOLDER_PACKED_MAX];
    size_t n = m ? holder_message_pack(m, packed + 4) : 0;
    put32(packed, a->number);
    return agent_tell(a->through, ++a->through->holder->last_number, AGENT_PASS, packed, 4 + n);
}

static bool send_message(struct asker *a, const struct holder_message *m)
{
    if (a->fd < 0) {
        a->is_gone |= !send_through(a, m);
        return !a->is_gone;
    }
    if (holder_send(a->fd, m, NULL) == 0)
        return true;
    a->is_gone = errno != EAGAIN;
    return false;
}

void asker_tell(struct asker *a, enum holder_what what, uint32_t host, int value, const void *data,
                size_t n)
{
    struct holder_message m = {.what = what, .host = host, .value = value, .size = (uint32_t)n};
    if (!a || a->is_gone)
        return;
    if (n)
        memcpy(m.data, data, n);
    if (a->waiting || (!send_message(a, &m) && !a->is_gone))
        keep_message(a, &m);
}

void asker_tell_waiting(struct asker *a)
{
    while (a->waiting && !a->is_gone && send_message(a, &a->waiting->message))
        forget_first(a);
}

bool asker_starts_agent(struct asker *asker, uint32_t host)
{
    bool can_give = asker->fd >= 0;
    asker_tell(asker, can_give ? HOLDER_NONE : HOLDER_ABSENT, host, 0, NULL, 0);
    return can_give && !asker->is_gone;
}

void asker_read(struct holder *h, struct asker *asker)
{
    struct holder_message m;
    int fds[HOLDER_FDS], rc;
    while (!asker->is_gone && (rc = holder_receive(asker->fd, &m, fds)) >= 0) {
        if (rc == 0)
            asker->is_gone = true;
        else
            h->take_message(h, asker, &m, fds);
        for (int i = 0; i < HOLDER_FDS; i++)
            cleanup_close(&fds[i]);
    }
    explicit_bzero(&m, sizeof(m));
}

static struct asker *add(struct holder *h)
{
    struct asker *a = must(malloc(sizeof(*a)));
    *a = (struct asker){.next = h->askers, .fd = -1, .last = &a->waiting};
    h->askers = a;
    return a;
}

void asker_accept(struct holder *h, int listen_fd)
{
    int fd = holder_accept(listen_fd);
    h->is_full = fd < 0 && (errno == EMFILE || errno == ENFILE);
    if (fd >= 0)
        add(h)->fd = fd;
}

static struct asker *find_through(const struct agent *a, uint32_t number)
{
    struct asker *asker = a->holder->askers;
    while (asker && (asker->through != a || asker->number != number))
        asker = asker->next;
    return asker;
}

static void take_bytes(struct holder *h, struct asker *asker, const uint8_t *p, size_t n)
{
    struct holder_message m;
    int size;
    buffer_append(&asker->heard, p, n);
    while (!asker->is_gone && (size = holder_message_unpack(buffer_ptr(&asker->heard),
                                                            buffer_len(&asker->heard), &m)) != 0) {
        int none[HOLDER_FDS] = {-1, -1, -1};
        asker->is_gone = size < 0;
        if (asker->is_gone)
            break;
        buffer_consume(&asker->heard, (size_t)size);
        h->take_message(h, asker, &m, none);
    }
    explicit_bzero(&m, sizeof(m));
}

/* An mprun on the agent's host has said this; n 0: it has gone. */
static void agent_take_mprun_bytes(struct agent *a, uint32_t number, const uint8_t *p, size_t n)
{
    struct asker *asker = find_through(a, number);
    if (!asker && n > 0 && a->in_fd >= 0) {
        asker = add(a->holder);
        asker->through = a;
        asker->number = number;
    }
    if (asker && n > 0)
        take_bytes(a->holder, asker, p, n);
    else if (asker)
        asker->is_gone = true;
}

/* ---- agents ---------------------------------------------------------------------------------- */

enum { REASON_READS = 32 }; /* of 4 KiB: a pipe's 64 KiB and more */

struct agent *agent_find(const struct holder *h, const char *host)
{
    struct agent *a = h->agents;
    while (a && (a->is_gone || a->refuses || strcmp(a->host, host) != 0))
        a = a->next;
    return a;
}

void agent_add(struct holder *h, const char *host, struct asker *starts_it)
{
    struct agent *a = must(malloc(sizeof(*a)));
    *a = (struct agent){.next = h->agents,
                        .holder = h,
                        .host = must(strdup(host)),
                        .starts_it = starts_it,
                        .in_fd = -1,
                        .out.fd = -1,
                        .err.fd = -1};
    h->agents = a;
}

void lines_close(struct lines *l)
{
    cleanup_close(&l->fd);
    *l = (struct lines){.fd = -1};
}

static void close_channel(struct agent *a)
{
    cleanup_close(&a->in_fd);
    lines_close(&a->out);
    lines_close(&a->err);
    a->in_fd = -1;
    a->client = 0;
    a->last_line = 0;
    explicit_bzero(a->key, sizeof(a->key));
}

struct asker *agent_take_waiter(struct agent *a, uint32_t *ret_host)
{
    struct waiter *w = a->waiters;
    if (!w)
        return NULL;
    struct asker *asker = w->asker;
    *ret_host = w->host;
    a->waiters = w->next;
    free(w);
    return asker;
}

void agent_add_waiter(struct agent *a, struct asker *asker, uint32_t host)
{
    struct waiter *w = must(malloc(sizeof(*w)));
    *w = (struct waiter){.next = a->waiters, .asker = asker, .host = host};
    a->waiters = w;
}

bool agent_start_by_next(struct agent *a)
{
    uint32_t host = 0;
    while ((a->starts_it = agent_take_waiter(a, &host)) && !asker_starts_agent(a->starts_it, host))
        ;
    return a->starts_it;
}

/* Nothing comes any more from mpruns on the agent's host. */
static void agent_forget_mpruns(const struct agent *a)
{
    for (struct asker *asker = a->holder->askers; asker; asker = asker->next)
        if (asker->through == a) {
            asker->through = NULL;
            asker->is_gone = true;
        }
}

static void agent_has_gone(struct agent *a)
{
    close_channel(a);
    agent_forget_mpruns(a);
    for (struct start *s; (s = a->starts); free(s)) {
        a->starts = s->next;
        asker_tell(s->asker, HOLDER_GONE, s->host, 0, NULL, 0);
    }
    a->is_ending = false;
    a->is_gone = !agent_start_by_next(a);
}

/* Returns the key of the agent's channel; NULL: it has none. */
static const uint8_t *channel_key(const struct agent *a)
{
    return a->is_connected ? a->key : NULL;
}

bool agent_tell(struct agent *a, uint32_t number, enum agent_what what, const void *data, size_t n)
{
    uint8_t packed[AGENT_MESSAGE_MAX];
    if (a->in_fd < 0 || n > AGENT_DATA_MAX)
        return false;
    size_t size = agent_message_pack(number, what, data, n, channel_key(a), packed);
    /* a pipe takes it whole or not at all; that of an agent which is stopped for hours, in a job
     * that is suspended, is full of what says that the job goes on */
    bool is_told = write(a->in_fd, packed, size) == (ssize_t)size;
    if (!is_told && !(what == AGENT_GOES_ON && errno == EAGAIN))
        agent_has_gone(a);
    explicit_bzero(packed, sizeof(packed));
    return is_told;
}

void agent_end(struct agent *a)
{
    if (a->is_ending || a->in_fd < 0)
        return;
    a->is_ending = true;
    agent_forget_mpruns(a);
    agent_tell(a, ++a->holder->last_number, AGENT_ENDS, NULL, 0);
    cleanup_close(&a->in_fd);
}

static void has_ended(struct agent *a, uint32_t number, int status)
{
    struct start **at = &a->starts;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct start *s = *at;
    if (!s)
        return;
    *at = s->next;
    a->refuses |= status == AGENT_REFUSES;
    asker_tell(s->asker, status == AGENT_REFUSES ? HOLDER_GONE : HOLDER_ENDED, s->host, status,
               NULL, 0);
    free(s);
}

/* Passes a starter's message to its mprun. A message without a number comes from the manager or the
 * agent itself, and goes to all mpruns of the agent. */
static void pass_message(struct agent *a, char *line)
{
    uint32_t number = agent_message_take_number(line);
    size_t n = strlen(line);
    line[n++] = '\n';
    for (struct start *next, *s = a->starts; s; s = a->starts ? next : NULL) {
        next = s->next;
        if (number == 0 || number == s->number) /* through the agent: it may have gone */
            asker_tell(s->asker, HOLDER_SAID, s->host, 0, line, n);
    }
}

static void take_line(struct agent *a, char *line)
{
    uint8_t said[AGENT_PASS_MAX];
    uint32_t number, line_number;
    size_t n;
    int status, rc = agent_pass_read(line, channel_key(a), &number, &line_number, said, &n);
    if (rc > 0 && line_number > a->last_line) {
        a->last_line = line_number;
        agent_take_mprun_bytes(a, number, said, n);
    } else if (rc != 0) {
        agent_forget_mpruns(a);
    } else if (agent_ended_read(line, &number, &status)) {
        has_ended(a, number, status);
    } else {
        pass_message(a, line);
    }
    explicit_bzero(said, sizeof(said));
}

/* Returns what read() has returned. */
static ssize_t take_lines(struct lines *l, struct agent *a)
{
    char buf[4096];
    ssize_t n = read(l->fd, buf, sizeof(buf));
    for (ssize_t i = 0; i < n && l->fd >= 0; i++) { /* a line may close it */
        if (buf[i] == '\n' || l->n == WORDS_MAX - 1) {
            l->line[l->n] = 0;
            l->n = 0;
            if (a)
                take_line(a, l->line);
        }
        if (buf[i] != '\n')
            l->line[l->n++] = buf[i] ? buf[i] : '?';
    }
    return n;
}

bool lines_read(struct lines *l, struct agent *a)
{
    ssize_t n = take_lines(l, a);
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* The reason comes before the end, of a starter or of the agent; others may write on for ever. */
void agent_read(struct agent *a)
{
    for (int i = 0; i < REASON_READS && a->err.fd >= 0 && take_lines(&a->err, a) > 0; i++)
        ;
    if (a->out.fd >= 0 && !lines_read(&a->out, a))
        agent_has_gone(a);
}

/* Starts no agent for an mprun that has gone, and tells it nothing of its starters. */
static void agents_forget_asker(struct holder *h, const struct asker *asker)
{
    for (struct agent *a = h->agents; a; a = a->next) {
        for (struct waiter *w, **at = &a->waiters; (w = *at);) {
            if (w->asker == asker) {
                *at = w->next;
                free(w);
            } else
                at = &w->next;
        }
        for (struct start *s = a->starts; s; s = s->next)
            if (s->asker == asker)
                s->asker = NULL;
        if (a->starts_it == asker)
            a->is_gone |= !agent_start_by_next(a);
    }
}

static void remove_askers(struct holder *h)
{
    for (struct asker *a, **at = &h->askers; (a = *at);) {
        if (a->is_gone) {
            *at = a->next;
            agents_forget_asker(h, a);
            h->nfreed += a->has_slots;
            if (a->through)
                send_through(a, NULL);
            cleanup_close(&a->fd);
            while (a->waiting)
                forget_first(a);
            buffer_free(&a->heard);
            free(a->needs);
            if (a->meets)
                explicit_bzero(a->meets, a->nmeets);
            free(a->meets);
            free(a);
        } else
            at = &a->next;
    }
}

void peers_remove_gone(struct holder *h)
{
    remove_askers(h);
    for (struct client *c, **at = &h->clients; (c = *at);) {
        if (c->says.fd < 0) {
            *at = c->next;
            free(c);
        } else
            at = &c->next;
    }
    for (struct agent *a, **at = &h->agents; (a = *at);) {
        if (a->is_gone) {
            *at = a->next;
            close_channel(a);
            free(a->host);
            free(a);
        } else
            at = &a->next;
    }
}
