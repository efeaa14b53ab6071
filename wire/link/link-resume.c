/* SPDX-License-Identifier: BSD-3-Clause */
/* link-resume.c - a link between two connections
 *
 * The connector connects again; the acceptor waits for it. A dead process looks like an end of file
 * or a reset; then its address refuses the connector, or it does not come back to the acceptor
 * soon. The time is counted in ticks, and a late tick counts as one: a stopped process has not
 * waited. */
#include "wire/link/link-private.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "wire/transport/dial.h"
#include "wire/transport/tcp.h"

static bool is_connector(const struct link *l)
{
    return l->options.role == LINK_CONNECTOR;
}

/* An end of file may mean a dead process. An error of the network does not. */
static bool looks_like_an_end(const struct error *why)
{
    return why->code == 0 || why->code == ECONNRESET || why->code == EPIPE;
}

void link_interrupted(struct link *l, const struct error *why)
{
    struct session *s = l->session;
    if (!s || !s->begun || l->state == DEAD || (s->peer_ends && looks_like_an_end(why))) {
        link_dies(l, why);
        return;
    }
    if (l->state == LOST)
        return;
    if (l->state == OPEN) {
        s->why = *why;
        s->fresh = 1;
    } else { /* a try has failed */
        s->only_peer = !s->only_peer;
    }
    l->state = LOST;
    l->deaf = 0;
    loop_timer_stop(&l->limit);
    link_close_descriptors(l);
    loop_defer_schedule(&l->die);
}

static void forget_connection(struct link *l)
{
    buffer_free(&l->in);
    buffer_free(&l->shake_out);
    buffer_free(&l->wire);
    link_cipher_free(take_ptr(l->cipher));
    handshake_wipe(&l->shake);
}

static void begin_waiting(struct link *l)
{
    struct session *s = l->session;
    double grace = l->options.resume_seconds, patience = l->options.resume_patience;
    s->fresh = 0;
    s->back_off = 0;
    s->only_peer = 0;
    s->waited = 0;
    s->lost_at = s->last_tick = loop_now();
    s->allowed =
        !is_connector(l) && looks_like_an_end(&s->why) && patience < grace ? patience : grace;
    link_retransmit_rewind(l);
    double every = s->allowed < 4 * RESUME_TICK_SECONDS ? s->allowed / 4 : RESUME_TICK_SECONDS;
    loop_timer_start(&s->tick, every, every);
    loop_timer_start(&s->again, 0, 0);
}

void link_lost(struct link *l)
{
    struct session *s = l->session;
    forget_connection(l);
    if (!s->fresh) { /* the link has no connection yet */
        loop_timer_start(&s->again, s->back_off, 0);
        return;
    }
    begin_waiting(l);
    if (l->events->lost)
        l->events->lost(l->arg, l, &s->why);
}

static void waited_too_long(struct link *l)
{
    struct session *s = l->session;
    if (s->allowed < l->options.resume_seconds)
        link_fails(l, ECONNRESET, "%s, and not connected again within %.3g s", s->why.text,
                   s->allowed);
    else
        link_fails(l, ETIMEDOUT, "no connection for %.3g s (%s)", s->allowed, s->why.text);
}

void link_peer_ends(struct link *l)
{
    struct session *s = l->session;
    if (!s)
        return;
    s->peer_ends = 1;
    if (l->state == LOST && looks_like_an_end(&s->why))
        link_fails(l, ECONNRESET, "%s, and its process has ended", s->why.text);
}

/* Looks how long the peer's kernel has owed an answer. */
static void look_at_connection(struct link *l)
{
    struct session *s = l->session;
    struct error e;
    double now = loop_now(), unheard = tcp_unheard(l->out_fd);
    if (unheard <= 0) {
        s->owing_since = 0;
        if (buffer_len(&s->kept) == 0)
            loop_timer_stop(&s->tick);
        return;
    }
    if (s->owing_since <= 0)
        s->owing_since = now;
    /* The kernel probes an idle connection (tcp_prepare()), so this one is not only idle; and the
     * kernel has sent data under way again since the last look. */
    if (unheard < l->options.dead_seconds ||
        now - s->owing_since < l->options.dead_seconds / LINK_LOOKS)
        return;
    error_set(&e, ETIMEDOUT, "no answer from its host for %.0f s", unheard);
    link_interrupted(l, &e);
}

void link_resume_tick(void *arg)
{
    struct link *l = arg;
    struct session *s = l->session;
    if (l->state == OPEN) {
        look_at_connection(l);
        return;
    }
    double now = loop_now(), passed = now - s->last_tick;
    s->last_tick = now;
    s->waited += passed < RESUME_TICK_MAX_SECONDS ? passed : RESUME_TICK_SECONDS;
    if (s->waited >= s->allowed)
        waited_too_long(l);
}

/* ---- the connector --------------------------------------------------------------------------- */

static void dialed(void *arg, int fd, const struct error *why)
{
    struct link *l = arg;
    struct session *s = l->session;
    struct error e = *why;
    dial_destroy(take_ptr(s->dial));
    s->back_off = s->back_off <= 0 ? RESUME_BACK_OFF_SECONDS : s->back_off * 2;
    if (s->back_off > RESUME_BACK_OFF_MAX_SECONDS)
        s->back_off = RESUME_BACK_OFF_MAX_SECONDS;
    if (fd < 0 && e.code == ECONNREFUSED) {
        error_context(&e, "%s, and nobody listens there any more", s->why.text);
        link_dies(l, &e);
        return;
    }
    if (fd < 0) {
        loop_timer_start(&s->again, e.code == ETIMEDOUT ? 0 : s->back_off, 0);
        return;
    }
    l->in_fd = l->out_fd = fd;
    link_make_watches(l);
    tcp_prepare(fd, l->options.dead_seconds);
    link_handshake_begin(l, s->key);
}

void link_resume_again(void *arg)
{
    struct link *l = arg;
    struct session *s = l->session;
    if (l->state != LOST || s->dial || !is_connector(l))
        return;
    s->dial = dial_create(l->loop, s->only_peer && s->peer[0] ? "" : s->addresses, s->peer,
                          RESUME_DIAL_SECONDS, dialed, l);
}

/* ---- back ------------------------------------------------------------------------------------ */

/* Notes the peer's known address; a connection that is lost again already has none. */
static void note_peer(struct link *l)
{
    char peer[sizeof(l->session->peer)];
    tcp_peer(l->in_fd, peer, sizeof(peer));
    if (peer[0])
        memcpy(l->session->peer, peer, sizeof(peer));
}

/* The owner may destroy the link: between link_enter() and link_leave(). */
void link_resumed(struct link *l)
{
    struct session *s = l->session;
    loop_timer_stop(&l->limit);
    loop_timer_stop(&s->tick);
    loop_timer_stop(&s->again);
    note_peer(l);
    handshake_wipe(&l->shake);
    l->state = OPEN;
    l->bulk_waited = 1; /* link_bulk_room() grows in any case */
    link_want_write(l);
    if (l->events->resumed)
        l->events->resumed(l->arg, l, loop_now() - s->lost_at);
}

bool link_claims(const struct link *l)
{
    static const uint8_t none[HANDSHAKE_SESSION];
    return l->session && sodium_memcmp(l->session->claim.id, none, sizeof(none)) != 0;
}

/* Returns true when the newcomer's claim can be true of l; else nothing is changed. */
static int check_claim(struct link *l, const struct link *newcomer, struct error *why)
{
    const struct session *s = l->session;
    if (!s || !s->begun || l->state == DEAD || !link_claims(newcomer) ||
        sodium_memcmp(s->mine.id, newcomer->session->claim.id, HANDSHAKE_SESSION) != 0)
        return error_set(why, ESTALE, "it claims to go on with a link that is not known here");
    uint64_t theirs = newcomer->session->claim.received;
    if (theirs < s->first || theirs > s->sent || l->options.security != newcomer->options.security)
        return error_set(why, EPROTO, "it claims to go on from where its link never was");
    if (l->depth > 0)
        return error_set(why, EBUSY, "its link is being worked with");
    return 0;
}

static void take_connection(struct link *l, struct link *newcomer)
{
    int fd = newcomer->in_fd;
    loop_io_destroy(newcomer->in_io);
    newcomer->in_io = newcomer->out_io = NULL;
    newcomer->in_fd = newcomer->out_fd = -1;
    l->in_fd = l->out_fd = fd;
    l->shake = newcomer->shake;
    l->in = newcomer->in;
    memset(&newcomer->in, 0, sizeof(newcomer->in));
    link_retransmit_forget(l, newcomer->session->claim.received);
    link_retransmit_rewind(l);
    link_make_watches(l);
    link_handshake_answer(l, HANDSHAKE_RESUMED);
    if (l->options.security)
        link_cipher_begin(l);
}

int link_adopt(struct link *l, struct link *newcomer, struct error *why)
{
    if (check_claim(l, newcomer, why) < 0)
        return -1;
    link_enter(l);
    if (l->state == OPEN) { /* the peer was first to notice that the connection is lost */
        struct error e;
        error_set(&e, ECONNRESET, "its host has begun another connection");
        link_interrupted(l, &e);
    }
    if (l->session->fresh)
        link_lost(l);
    if (l->state == LOST) {
        take_connection(l, newcomer);
        link_resumed(l);
    }
    link_leave(l);
    link_destroy(newcomer);
    return 0;
}
