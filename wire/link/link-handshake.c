/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/link/link-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

void link_handshake_end_noise(struct link *l)
{
    struct buffer *b = &l->noise;
    while (buffer_len(b) && strchr("\r\n", b->data[b->end - 1]))
        b->end--;
    for (size_t i = b->start; i < b->end; i++)
        if (b->data[i] < ' ' && b->data[i] != '\n' && b->data[i] != '\t')
            b->data[i] = '?';
    buffer_append(b, "", 1);
}

const char *link_noise(const struct link *l)
{
    int ended = l->state != SKIP_NOISE && buffer_len(&l->noise);
    return ended ? (const char *)buffer_ptr(&l->noise) : "";
}

/* Returns whether this is another connection of a link that was open before. */
static bool is_resuming(const struct link *l)
{
    return l->session && l->session->begun;
}

double link_handshake_seconds(const struct link *l)
{
    return l->options.role == LINK_ACCEPTOR || is_resuming(l) ? HANDSHAKE_ACCEPT_SECONDS
                                                              : HANDSHAKE_CONNECT_SECONDS;
}

static uint32_t flags_of(enum link_security s)
{
    return s == LINK_ENCRYPT ? HANDSHAKE_ENCRYPT : s == LINK_MAC ? HANDSHAKE_MAC : 0;
}

void link_handshake_begin(struct link *l, const uint8_t *key)
{
    const struct link_options *o = &l->options;
    handshake_init(&l->shake, key, o->host_id,
                   flags_of(o->security) | (l->session ? HANDSHAKE_RESUME : 0));
    if (o->role == LINK_CONNECTOR) {
        uint8_t c1[HANDSHAKE_C1];
        handshake_c1(&l->shake, c1);
        buffer_append(&l->shake_out, c1, sizeof(c1));
    }
    l->state = o->skip_noise ? SKIP_NOISE : SHAKE_FIRST;
    if (!o->skip_noise) /* the starter of the peer limits how long its start takes */
        loop_timer_start(&l->limit, link_handshake_seconds(l), 0);
}

static const struct handshake_session *session_of(const struct link *l)
{
    static const struct handshake_session none;
    return l->session ? &l->session->mine : &none;
}

void link_handshake_answer(struct link *l, enum handshake_answer answer)
{
    uint8_t a2[HANDSHAKE_A2];
    handshake_a2(&l->shake, answer, session_of(l), a2);
    buffer_append(&l->shake_out, a2, sizeof(a2));
    link_want_write(l);
}

/* The peer proved the key: tell it that it is refused, so that it does not try again. */
static void say_refused(struct link *l)
{
    if (l->options.role != LINK_ACCEPTOR || l->state == DEAD)
        return;
    buffer_free(&l->shake_out); /* it may have a welcome from before the owner refused */
    link_handshake_answer(l, HANDSHAKE_REFUSED);
    buffer_write(&l->shake_out, l->out_fd); /* a connection that is new has room */
}

/* Begins a session that continues no other. The key proves only that the peer belongs to the step,
 * so the owner decides what it goes on with. */
static void begin_session(struct link *l)
{
    if (l->options.role == LINK_ACCEPTOR) {
        if (l->session)
            randombytes_buf(l->session->mine.id, HANDSHAKE_SESSION);
        link_handshake_answer(l, HANDSHAKE_NEW);
    }
    if (l->session)
        l->session->begun = 1;
}

/* The handshake is over: opens the link. Returns 1 when the owner refused, or the link is gone. */
static int link_opens(struct link *l)
{
    struct error e = {0};
    int claims = link_claims(l); /* then the owner has another link for this connection */
    if (!claims)
        begin_session(l);
    if (!claims && l->options.security)
        link_cipher_begin(l);
    loop_timer_stop(&l->limit);
    l->state = OPEN;
    link_enter(l);
    int refused = l->events->opened(l->arg, l, l->shake.host_id, &e) < 0;
    if (link_leave(l))
        return 1;
    if (claims && !refused)
        refused = error_set(&e, EPROTO, "this link cannot be resumed here") < 0;
    if (refused) {
        say_refused(l);
        if (l->session)
            l->session->begun = 0;
        link_dies(l, &e);
    } else {
        link_want_write(l);
    }
    handshake_wipe(&l->shake);
    return refused || l->state != OPEN;
}

int link_release(struct link *l, uint8_t ret_key[LINK_KEY])
{
    int rc = 0, fd = -1;
    while (rc >= 0 && buffer_len(&l->shake_out)) /* a connection that is new has room */
        rc = (int)buffer_write(&l->shake_out, l->out_fd);
    if (rc >= 0)
        fd = fcntl(l->out_fd, F_DUPFD_CLOEXEC, 3);
    handshake_direction_key(&l->shake, 0, ret_key);
    link_destroy(l);
    return fd;
}

static int skip_noise(struct link *l)
{
    struct buffer *in = &l->in;
    while (buffer_len(in) >= HANDSHAKE_MAGIC) {
        if (memcmp(buffer_ptr(in), handshake_magic, HANDSHAKE_MAGIC) == 0) {
            link_handshake_end_noise(l);
            l->state = SHAKE_FIRST;
            loop_timer_start(&l->limit, link_handshake_seconds(l), 0);
            return 0;
        }
        if (buffer_len(&l->noise) < NOISE_MAX)
            buffer_append(&l->noise, buffer_ptr(in), 1);
        buffer_consume(in, 1);
    }
    return 1;
}

static int shake_acceptor(struct link *l, struct error *e)
{
    if (l->state == SHAKE_FIRST) {
        uint8_t a1[HANDSHAKE_A1];
        if (buffer_len(&l->in) < HANDSHAKE_C1)
            return 1;
        if (handshake_take_c1(&l->shake, buffer_ptr(&l->in), a1, e) < 0)
            return -1;
        buffer_consume(&l->in, HANDSHAKE_C1);
        buffer_append(&l->shake_out, a1, sizeof(a1));
        l->state = SHAKE_SECOND;
        link_want_write(l);
        return 0;
    }
    struct handshake_session claim;
    if (buffer_len(&l->in) < HANDSHAKE_C2)
        return 1;
    if (handshake_take_c2(&l->shake, buffer_ptr(&l->in), &claim, e) < 0)
        return -1;
    buffer_consume(&l->in, HANDSHAKE_C2);
    if (!(l->shake.flags & HANDSHAKE_RESUME))
        link_retransmit_destroy(l);
    else
        l->session->claim = claim;
    return link_opens(l);
}

/* Takes the acceptor's answer to this connector's claim. */
static int take_verdict(struct link *l, struct error *e)
{
    struct session *s = l->session;
    struct handshake_session theirs;
    enum handshake_answer answer;
    if (handshake_take_a2(&l->shake, buffer_ptr(&l->in), &answer, &theirs, e) < 0)
        return -1;
    buffer_consume(&l->in, HANDSHAKE_A2);
    if (answer == HANDSHAKE_REFUSED)
        return link_fails(l, ECONNREFUSED, "the other end %s",
                          is_resuming(l) ? "has given this link up" : "refused it");
    if (answer == HANDSHAKE_NEW && !is_resuming(l)) {
        if (s) {
            s->mine = (struct handshake_session){.received = 0};
            memcpy(s->mine.id, theirs.id, HANDSHAKE_SESSION);
        }
        return link_opens(l);
    }
    if (answer == HANDSHAKE_NEW || !is_resuming(l) ||
        sodium_memcmp(s->mine.id, theirs.id, HANDSHAKE_SESSION) != 0 ||
        link_retransmit_forget(l, theirs.received) < 0)
        return link_fails(l, EPROTO, "protocol error: the other end goes on with another link");
    if (l->options.security)
        link_cipher_begin(l);
    link_enter(l);
    link_resumed(l);
    return link_leave(l) || l->state != OPEN;
}

static int shake_connector(struct link *l, struct error *e)
{
    uint8_t c2[HANDSHAKE_C2];
    if (l->state == SHAKE_SECOND)
        return buffer_len(&l->in) < HANDSHAKE_A2 ? 1 : take_verdict(l, e);
    if (buffer_len(&l->in) < HANDSHAKE_A1)
        return 1;
    if (handshake_take_a1(&l->shake, buffer_ptr(&l->in), e) < 0)
        return -1;
    buffer_consume(&l->in, HANDSHAKE_A1);
    bool resumable = l->shake.flags & HANDSHAKE_RESUME;
    if (is_resuming(l) && !resumable)
        return error_set(e, EPROTO, "the other end does not resume links");
    if (!resumable)
        link_retransmit_destroy(l);
    handshake_c2(&l->shake, session_of(l), c2);
    buffer_append(&l->shake_out, c2, sizeof(c2));
    l->state = SHAKE_SECOND;
    link_want_write(l);
    return 0;
}

/* Returns 0: try again with what is there; 1: wait for more or stop; check for OPEN then. */
static int shake_step(struct link *l)
{
    struct error e = {0};
    if (l->state == SKIP_NOISE)
        return skip_noise(l);
    int r = l->options.role == LINK_ACCEPTOR ? shake_acceptor(l, &e) : shake_connector(l, &e);
    if (r < 0) /* dead, unless it was open before: another may be at the address */
        link_interrupted(l, &e);
    return r;
}

void link_handshake_take(struct link *l)
{
    while (l->state < OPEN)
        if (shake_step(l) != 0)
            break;
}
