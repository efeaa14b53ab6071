/* SPDX-License-Identifier: BSD-3-Clause */
/* holder.c - see holder.h
 *
 * Nothing here waits for a peer: the holder gives up an agent that takes nothing more, and an mprun
 * that reads nothing more. */
#include "starter/agent/holder.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/loop.h"
#include "common/must.h"
#include "common/number.h"
#include "common/proc.h"
#include "model/rank-end.h"
#include "starter/keeper/polled.h"
#include "starter/tunables.h"
#include "wire/little-endian.h"
#include "wire/link/key-proof.h"
#include "wire/start-channel/agent-channel.h"
#include "wire/start-channel/holder-socket.h"

enum {
    WORDS_MAX = 1024,   /* bytes of a line */
    WAITING_MAX = 4096, /* messages for an mprun that reads none: with more it counts as gone */
};

/* Slots that a step takes. */
struct need {
    uint64_t host; /* a hash of its name */
    uint32_t number, n, of;
};

/* A message that an mprun has no room for now. */
struct waiting {
    struct waiting *next;
    struct holder_message message;
};

struct asker { /* an mprun */
    struct asker *next;
    int fd;                          /* -1: it is on another host, */
    struct agent *through;           /* and this is the agent there, */
    uint32_t number;                 /* which has given it this number; */
    struct buffer heard;             /* what it has said of a message that is not whole yet */
    struct waiting *waiting, **last; /* in order; last: where the next one goes */
    size_t nwaiting;
    bool is_over; /* its step is over, and it waits for BYE */
    bool is_gone;
    struct need *needs;
    size_t nneeds;
    uint32_t turn; /* 0: it does not wait for slots */
    bool has_slots, is_told;
};

/* An mprun that waits for an agent, which another mprun starts, or which is ending. */
struct waiter {
    struct waiter *next;
    struct asker *asker;
    uint32_t host; /* the asker's number of it */
};

/* A starter that runs. */
struct start {
    struct start *next;
    uint32_t number, host;
    struct asker *asker; /* NULL: it has gone */
};

/* A process's output, which the holder reads line by line. */
struct lines {
    int fd; /* -1: not there yet, or closed */
    size_t n;
    char line[WORDS_MAX + 1];
};

/* A start client of several agents. */
struct client {
    struct client *next;
    struct lines says;
};

struct agent {
    struct agent *next;
    struct holder *holder;
    char *host;
    struct asker *starts_it; /* NULL: it is there */
    struct waiter *waiters;
    struct start *starts;
    pid_t client;
    int in_fd; /* -1: not there yet, or closed */
    struct lines out, err;
    uint32_t last_line; /* number of the last one with what an mprun there says */
    bool is_connected;  /* by a connection of its own, with this key */
    uint8_t key[LINK_KEY];
    bool is_ending; /* the holder has told it to end */
    bool is_gone;
};

struct holder {
    struct asker *askers;
    struct agent *agents;
    struct client *clients;
    struct polled polled;
    uint32_t last_number; /* of a message to an agent */
    uint32_t last_turn;
    char job[HOLDER_JOB_MAX]; /* "": not known */
    bool sees_end;            /* of the job */
    bool is_kept; /* somebody has asked for that: agents end at the job's end at the latest */
    int keep;     /* milliseconds that agents stay without a step; < 0: until the job ends */
    double alive, needed; /* loop_now(): last AGENT_GOES_ON; last time a step needed agents */
};

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

static bool tell_agent(struct agent *a, uint32_t number, enum agent_what what, const void *data,
                       size_t n);

/* By the agent of its host; m NULL: nothing more comes. */
static bool send_through(struct asker *a, const struct holder_message *m)
{
    uint8_t packed[4 + HOLDER_PACKED_MAX];
    size_t n = m ? holder_message_pack(m, packed + 4) : 0;
    put32(packed, a->number);
    return tell_agent(a->through, ++a->through->holder->last_number, AGENT_PASS, packed, 4 + n);
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

static void tell(struct asker *a, enum holder_what what, uint32_t host, int value, const void *data,
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

static void tell_waiting(struct asker *a)
{
    while (a->waiting && !a->is_gone && send_message(a, &a->waiting->message))
        forget_first(a);
}

/* ---- agents ---------------------------------------------------------------------------------- */

static struct agent *find_agent(const struct holder *h, const char *host)
{
    struct agent *a = h->agents;
    while (a && (a->is_gone || strcmp(a->host, host) != 0))
        a = a->next;
    return a;
}

static void add_agent(struct holder *h, const char *host, struct asker *starts_it)
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

static void lines_close(struct lines *l)
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

/* Removes the first mprun that waits for the agent, and returns it with its number of the host;
 * NULL: none waits. */
static struct asker *take_waiter(struct agent *a, uint32_t *ret_host)
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

static void add_waiter(struct agent *a, struct asker *asker, uint32_t host)
{
    struct waiter *w = must(malloc(sizeof(*w)));
    *w = (struct waiter){.next = a->waiters, .asker = asker, .host = host};
    a->waiters = w;
}

/* Tells an mprun that there is no agent. Returns whether it is to start one. */
static bool starts_agent(struct asker *asker, uint32_t host)
{
    bool can_give = asker->fd >= 0;
    tell(asker, can_give ? HOLDER_NONE : HOLDER_ABSENT, host, 0, NULL, 0);
    return can_give && !asker->is_gone;
}

/* Has the next mprun that waits for the agent start it; false: none does. */
static bool next_starts_it(struct agent *a)
{
    uint32_t host = 0;
    while ((a->starts_it = take_waiter(a, &host)) && !starts_agent(a->starts_it, host))
        ;
    return a->starts_it;
}

/* Nothing comes any more from mpruns on the agent's host. */
static void forget_through(const struct agent *a)
{
    for (struct asker *asker = a->holder->askers; asker; asker = asker->next)
        if (asker->through == a) {
            asker->through = NULL;
            asker->is_gone = true;
        }
}

static void agent_is_gone(struct agent *a)
{
    close_channel(a);
    forget_through(a);
    for (struct start *s; (s = a->starts); free(s)) {
        a->starts = s->next;
        tell(s->asker, HOLDER_GONE, s->host, 0, NULL, 0);
    }
    a->is_ending = false;
    a->is_gone = !next_starts_it(a);
}

/* number: another one for each message. False: the agent hears nothing. */
static bool tell_agent(struct agent *a, uint32_t number, enum agent_what what, const void *data,
                       size_t n)
{
    uint8_t packed[AGENT_MESSAGE_MAX];
    if (a->in_fd < 0 || n > AGENT_DATA_MAX)
        return false;
    size_t size =
        agent_message_pack(number, what, data, n, a->is_connected ? a->key : NULL, packed);
    bool is_told =
        write(a->in_fd, packed, size) == (ssize_t)size; /* a pipe takes it whole or not */
    if (!is_told)
        agent_is_gone(a);
    explicit_bzero(packed, sizeof(packed));
    return is_told;
}

/* Tells the agent to end. It is gone when its start client has ended. */
static void end_agent(struct agent *a)
{
    if (a->is_ending || a->in_fd < 0)
        return;
    a->is_ending = true;
    forget_through(a);
    tell_agent(a, ++a->holder->last_number, AGENT_ENDS, NULL, 0);
    if (a->in_fd >= 0)
        close(take_fd(&a->in_fd));
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
    tell(s->asker, HOLDER_ENDED, s->host, status, NULL, 0);
    free(s);
}

/* Passes a starter's message to its mprun. A message without a number comes from the manager or the
 * agent itself, and goes to all mpruns of the agent. */
static void pass_message(struct agent *a, char *line)
{
    uint32_t number = agent_message_take_number(line);
    size_t n = strlen(line);
    line[n++] = '\n';
    for (struct start *s = a->starts; s; s = s->next)
        if (number == 0 || number == s->number)
            tell(s->asker, HOLDER_SAID, s->host, 0, line, n);
}

static void mprun_says(struct agent *a, uint32_t number, const uint8_t *p, size_t n);

static void take_line(struct agent *a, char *line)
{
    uint8_t said[AGENT_PASS_MAX];
    uint32_t number, line_number;
    size_t n;
    int status, rc = agent_pass_read(line, a->is_connected ? a->key : NULL, &number, &line_number,
                                     said, &n);
    if (rc > 0 && line_number > a->last_line) {
        a->last_line = line_number;
        mprun_says(a, number, said, n);
    } else if (rc != 0) {
        forget_through(a);
    } else if (agent_ended_read(line, &number, &status)) {
        has_ended(a, number, status);
    } else {
        pass_message(a, line);
    }
    explicit_bzero(said, sizeof(said));
}

/* Reads what there is; agent NULL: drops it. Returns false at the end of the output. */
static bool lines_read(struct lines *l, struct agent *a)
{
    char buf[4096];
    ssize_t n = read(l->fd, buf, sizeof(buf));
    for (ssize_t i = 0; i < n; i++) {
        if (buf[i] == '\n' || l->n == WORDS_MAX - 1) {
            l->line[l->n] = 0;
            l->n = 0;
            if (a)
                take_line(a, l->line);
        }
        if (buf[i] != '\n')
            l->line[l->n++] = buf[i] ? buf[i] : '?';
    }
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

static void agent_says(struct agent *a)
{
    if (!lines_read(&a->out, a))
        agent_is_gone(a);
}

/* ---- askers ---------------------------------------------------------------------------------- */

static void take_ask(struct holder *h, struct asker *asker, uint32_t host, const char *name)
{
    struct agent *a = find_agent(h, name);
    if (a && !a->starts_it && !a->is_ending)
        tell(asker, HOLDER_HAS, host, 0, NULL, 0);
    else if (a) {
        add_waiter(a, asker, host);
        tell(asker, HOLDER_WAIT, host, 0, NULL, 0);
    } else if (starts_agent(asker, host)) {
        add_agent(h, name, asker);
    }
}

/* The agent stands for the holder on its host. */
static void have_it_listen(struct agent *a)
{
    struct holder *h = a->holder;
    if (h->job[0])
        tell_agent(a, ++h->last_number, AGENT_LISTEN, h->job, strlen(h->job));
}

static void take_give(struct agent *a, pid_t client, int fds[HOLDER_FDS], const uint8_t *key)
{
    a->client = client;
    a->in_fd = take_fd(&fds[0]);
    a->out.fd = take_fd(&fds[1]);
    a->err.fd = take_fd(&fds[2]);
    a->is_connected = key;
    if (key && handshake_library_init(NULL) == 0)
        memcpy(a->key, key, sizeof(a->key));
    fd_set_nonblock(a->in_fd, 1);
    fd_set_nonblock(a->out.fd, 1);
    if (a->err.fd >= 0)
        fd_set_nonblock(a->err.fd, 1);
    a->starts_it = NULL;
    have_it_listen(a);
    uint32_t host;
    for (struct asker *waits; (waits = take_waiter(a, &host));)
        tell(waits, HOLDER_HAS, host, 0, NULL, 0);
}

static void take_client(struct holder *h, int fds[HOLDER_FDS])
{
    if (fds[0] < 0)
        return;
    struct client *c = must(malloc(sizeof(*c)));
    *c = (struct client){.next = h->clients, .says = {.fd = take_fd(&fds[0])}};
    fd_set_nonblock(c->says.fd, 1);
    h->clients = c;
}

static void take_start(struct holder *h, struct agent *a, struct asker *asker,
                       const struct holder_message *m, const uint8_t *preamble, size_t n)
{
    if (n > PREAMBLE_MAX) {
        tell(asker, HOLDER_GONE, m->host, 0, NULL, 0);
        return;
    }
    struct start *s = must(malloc(sizeof(*s)));
    *s = (struct start){
        .next = a->starts, .number = ++h->last_number, .host = m->host, .asker = asker};
    a->starts = s;
    tell_agent(a, s->number, AGENT_START, preamble, n);
}

/* Keeps agents for the longest time that any mprun asks for. If the holder cannot see the end of
 * the job, it keeps no agent. */
static void take_keep(struct holder *h, int keep)
{
    h->is_kept |= h->sees_end;
    if (h->sees_end && h->keep >= 0 && (keep < 0 || keep > h->keep))
        h->keep = keep;
}

static void take_need(struct asker *a, const struct holder_message *m, size_t name)
{
    struct need one = {
        .host = hash_bytes(m->data, name), .number = m->host, .n = (uint32_t)m->value};
    if (a->turn || m->size != name + sizeof(one.of)) {
        a->is_gone = true;
        return;
    }
    memcpy(&one.of, m->data + name, sizeof(one.of));
    a->needs = must(reallocarray(a->needs, a->nneeds + 1, sizeof(one)));
    a->needs[a->nneeds++] = one;
}

/* data: a host's name with its end; for START the preamble follows. */
static void take_message(struct holder *h, struct asker *asker, struct holder_message *m,
                         int fds[HOLDER_FDS])
{
    size_t name = strnlen((char *)m->data, m->size) + 1;
    if (name > m->size) {
        asker->is_gone = true;
        return;
    }
    struct agent *a = find_agent(h, (char *)m->data);
    bool is_own = a && a->starts_it == asker;
    if (m->what == HOLDER_ASK)
        take_ask(h, asker, m->host, (char *)m->data);
    else if (m->what == HOLDER_GIVE && is_own && fds[0] >= 0 && fds[1] >= 0)
        take_give(a, m->value, fds, m->size - name == LINK_KEY ? m->data + name : NULL);
    else if (m->what == HOLDER_CLIENT)
        take_client(h, fds);
    else if (m->what == HOLDER_CANNOT && is_own)
        a->is_gone = !next_starts_it(a);
    else if (m->what == HOLDER_NEED)
        take_need(asker, m, name);
    else if (m->what == HOLDER_TURN)
        asker->turn = ++h->last_turn;
    else if (m->what == HOLDER_KEEP)
        take_keep(h, m->value);
    else if (m->what == HOLDER_DOWN)
        h->keep = 0;
    else if (m->what == HOLDER_OVER)
        asker->is_over = true;
    else if (m->what == HOLDER_LEAVE && a && !a->starts_it && !a->starts)
        end_agent(a);
    else if (m->what == HOLDER_START && a && !a->starts_it && !a->is_ending)
        take_start(h, a, asker, m, m->data + name, m->size - name);
    else if (m->what == HOLDER_START)
        tell(asker, HOLDER_GONE, m->host, 0, NULL, 0);
}

static void asker_says(struct holder *h, struct asker *asker)
{
    struct holder_message m;
    int fds[HOLDER_FDS], rc;
    while (!asker->is_gone && (rc = holder_receive(asker->fd, &m, fds)) >= 0) {
        if (rc == 0)
            asker->is_gone = true;
        else
            take_message(h, asker, &m, fds);
        for (int i = 0; i < HOLDER_FDS; i++)
            cleanup_close(&fds[i]);
    }
    explicit_bzero(&m, sizeof(m));
}

static struct asker *add_asker(struct holder *h)
{
    struct asker *a = must(malloc(sizeof(*a)));
    *a = (struct asker){.next = h->askers, .fd = -1, .last = &a->waiting};
    h->askers = a;
    return a;
}

static void take_asker(struct holder *h, int listen_fd)
{
    int fd = holder_accept(listen_fd);
    if (fd >= 0)
        add_asker(h)->fd = fd;
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
        take_message(h, asker, &m, none);
    }
    explicit_bzero(&m, sizeof(m));
}

/* n 0: it has gone. */
static void mprun_says(struct agent *a, uint32_t number, const uint8_t *p, size_t n)
{
    struct asker *asker = find_through(a, number);
    if (!asker && n > 0) {
        asker = add_asker(a->holder);
        asker->through = a;
        asker->number = number;
    }
    if (n > 0)
        take_bytes(a->holder, asker, p, n);
    else if (asker)
        asker->is_gone = true;
}

/* An mprun has gone: starts nothing more for it, and tells it nothing of its starters. */
static void forget_asker(struct holder *h, const struct asker *asker)
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
            a->is_gone |= !next_starts_it(a);
    }
}

static void remove_gone(struct holder *h)
{
    for (struct asker *a, **at = &h->askers; (a = *at);) {
        if (a->is_gone) {
            *at = a->next;
            forget_asker(h, a);
            if (a->through)
                send_through(a, NULL);
            cleanup_close(&a->fd);
            while (a->waiting)
                forget_first(a);
            buffer_free(&a->heard);
            free(a->needs);
            free(a);
        } else
            at = &a->next;
    }
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

/* ---- slots ----------------------------------------------------------------------------------- */

/* Returns a host that has too few free slots now; NULL: all have enough. A host whose slots nobody
 * has is enough, because a step may have more ranks than slots. */
static const struct need *lacks(const struct holder *h, const struct asker *a, uint32_t *ret_free)
{
    for (size_t i = 0; i < a->nneeds; i++) {
        uint64_t used = 0;
        for (const struct asker *b = h->askers; b; b = b->next)
            for (size_t k = 0; b->has_slots && k < b->nneeds; k++)
                used += b->needs[k].host == a->needs[i].host ? b->needs[k].n : 0;
        *ret_free = used < a->needs[i].of ? (uint32_t)(a->needs[i].of - used) : 0;
        if (used > 0 && a->needs[i].n > *ret_free)
            return &a->needs[i];
    }
    return NULL;
}

static struct asker *next_turn(const struct holder *h)
{
    struct asker *first = NULL;
    for (struct asker *a = h->askers; a; a = a->next)
        if (a->turn && !a->has_slots && (!first || a->turn < first->turn))
            first = a;
    return first;
}

/* Gives slots: first come, first served, and each step gets all its slots or none, so that no step
 * waits while it has slots that others wait for. */
static void give_slots(struct holder *h)
{
    const struct need *lacking = NULL;
    uint32_t left;
    for (struct asker *a; (a = next_turn(h)) && !(lacking = lacks(h, a, &left));) {
        a->has_slots = true;
        tell(a, HOLDER_HAS, 0, 0, NULL, 0);
    }
    for (struct asker *a = lacking ? h->askers : NULL; a; a = a->next) {
        if (!a->turn || a->has_slots || a->is_told)
            continue;
        const struct need *own = lacks(h, a, &left);
        a->is_told = true;
        tell(a, HOLDER_WAIT, own ? own->number : UINT32_MAX, own ? (int)left : 0, NULL, 0);
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

enum { LISTENER, JOB, FIRST };

/* Returns whether no step has an agent, or may ask for one. */
static bool is_idle(const struct holder *h)
{
    for (const struct agent *a = h->agents; a; a = a->next)
        if (a->starts)
            return false;
    for (const struct asker *a = h->askers; a; a = a->next)
        if (!a->is_over)
            return false;
    return true;
}

static void say_alive(struct holder *h)
{
    if (loop_now() - h->alive < AGENT_ALIVE_SECONDS)
        return;
    h->alive = loop_now();
    for (struct agent *a = h->agents; a; a = a->next)
        tell_agent(a, ++h->last_number, AGENT_GOES_ON, NULL, 0);
}

static void end_agents(struct holder *h)
{
    for (struct agent *a = h->agents; a; a = a->next)
        end_agent(a);
}

/* Sends BYE to mpruns whose step is over, once no agent is ending: then the manager has heard
 * everything of the step. */
static void let_go(struct holder *h)
{
    int stay = 0;
    for (const struct agent *a = h->agents; a; a = a->next, stay++)
        if (a->is_ending)
            return;
    if (!h->agents && h->clients) /* they mostly end with their agents */
        return;
    for (struct asker *a = h->askers; a; a = a->next)
        if (a->is_over && !a->waiting) {
            tell(a, HOLDER_BYE, 0, stay, NULL, 0);
            a->is_gone |= !a->waiting;
        }
}

/* Ends agents that no step needs. Returns whether the holder has anything left to do. */
static bool look_after(struct holder *h)
{
    bool idle = is_idle(h);
    give_slots(h);
    if (!idle)
        h->needed = loop_now();
    else if (h->keep >= 0 && (loop_now() - h->needed) * 1000 >= h->keep)
        end_agents(h);
    let_go(h);
    remove_gone(h);
    return !idle || h->agents || h->askers || h->clients;
}

/* A manager that suspends the job stops the processes of its script, start clients included. mprun
 * then continues the holder (launcher/job-suspension.c), and the holder its clients. */
static volatile sig_atomic_t was_continued;

static void continued(int signo)
{
    was_continued = 1;
}

static void wake_clients(const struct holder *h)
{
    if (!was_continued)
        return;
    was_continued = 0;
    for (const struct agent *a = h->agents; a; a = a->next) {
        pid_t *children = NULL;
        if (a->client <= 1)
            continue;
        kill(a->client, SIGCONT);
        for (int i = 0, n = proc_children(a->client, &children); i < n; i++)
            kill(children[i], SIGCONT);
        free(children);
    }
}

/* Returns whether the job goes on. */
static bool wait_and_serve(struct holder *h, int job_fd)
{
    struct polled *polled = &h->polled;
    polled->n = 0;
    polled_add(polled, STDIN_FILENO, POLLIN); /* LISTENER, JOB */
    polled_add(polled, h->is_kept ? job_fd : -1, POLLIN);
    for (struct asker *a = h->askers; a; a = a->next)
        polled_add(polled, a->fd, a->waiting ? POLLIN | POLLOUT : POLLIN);
    for (struct agent *a = h->agents; a; a = a->next) {
        polled_add(polled, a->out.fd, POLLIN);
        polled_add(polled, a->err.fd, POLLIN);
    }
    for (struct client *c = h->clients; c; c = c->next)
        polled_add(polled, c->says.fd, POLLIN);
    const struct pollfd *p = polled->all;
    int rc = poll(polled->all, polled->n, (int)(AGENT_ALIVE_SECONDS * 1000)), why = errno;
    wake_clients(h);
    if (rc < 0)
        return why == EINTR;
    say_alive(h);
    size_t n = FIRST;
    struct agent *agents = h->agents; /* agents that come now were not polled */
    struct client *clients = h->clients;
    for (struct asker *a = h->askers; a; a = a->next, n++)
        if (p[n].revents) {
            tell_waiting(a);
            asker_says(h, a);
        }
    for (struct agent *a = agents; a; a = a->next, n += 2) {
        if (p[n + 1].revents && a->err.fd >= 0) /* the reason comes before the end */
            if (!lines_read(&a->err, a))
                lines_close(&a->err);
        if (p[n].revents && a->out.fd >= 0)
            agent_says(a);
    }
    for (struct client *c = clients; c; c = c->next, n++)
        if (p[n].revents && !lines_read(&c->says, NULL))
            lines_close(&c->says);
    if (p[LISTENER].revents)
        take_asker(h, STDIN_FILENO);
    remove_gone(h);
    return look_after(h) && !p[JOB].revents;
}

/* The job is over: ends the agents, and their start clients with them. */
static void await_end(struct holder *h)
{
    double end = loop_now() + HOLDER_END_SECONDS;
    end_agents(h);
    for (struct agent *a = h->agents; a; a = a->next) {
        struct pollfd p = {.fd = a->out.fd, .events = POLLIN};
        while (!a->is_gone && a->out.fd >= 0 && loop_now() < end &&
               poll(&p, 1, (int)((end - loop_now()) * 1000)) > 0)
            agent_says(a);
    }
}

static void take_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGXCPU};
    const struct sigaction on_continue = {.sa_handler = continued};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN); /* the manager may send them to all processes of the job */
    signal(SIGPIPE, SIG_IGN);        /* reading tells when a start client has ended */
    sigaction(SIGCONT, &on_continue, NULL);
}

int holder_run(pid_t job)
{
    AUTO_CLOSE int job_fd = job > 0 ? (int)syscall(SYS_pidfd_open, job, 0) : -1;
    struct holder h = {.needed = loop_now(), .sees_end = job_fd >= 0};
    prctl(PR_SET_NAME, "mprun-holder");
    take_signals();
    if (!holder_listens_for(STDIN_FILENO, h.job))
        h.job[0] = 0;
    listen(STDIN_FILENO, SOMAXCONN); /* mprun has called it; again, so that peers see this pid */
    while (wait_and_serve(&h, job_fd))
        ;
    await_end(&h);
    free(h.polled.all);
    return EXIT_CODE_OK;
}
