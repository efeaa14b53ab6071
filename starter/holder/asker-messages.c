/* SPDX-License-Identifier: BSD-3-Clause */
/* asker-messages.c - what each message of an mprun does */
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/text/number.h"
#include "starter/holder/holder-private.h"
#include "wire/link/key-proof.h"

static void take_ask(struct holder *h, struct asker *asker, uint32_t host, const char *name)
{
    struct agent *a = agent_find(h, name);
    if (a && !a->starts_it && !a->is_ending)
        asker_tell(asker, HOLDER_HAS, host, 0, NULL, 0);
    else if (a) {
        agent_add_waiter(a, asker, host);
        asker_tell(asker, HOLDER_WAIT, host, 0, NULL, 0);
    } else if (asker_starts_agent(asker, host)) {
        agent_add(h, name, asker);
    }
}

/* The agent stands for the holder on its host. */
static void have_it_listen(struct agent *a)
{
    struct holder *h = a->holder;
    if (h->job[0])
        agent_tell(a, ++h->last_number, AGENT_LISTEN, h->job, strlen(h->job));
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
    for (struct asker *waits; (waits = agent_take_waiter(a, &host));)
        asker_tell(waits, HOLDER_HAS, host, 0, NULL, 0);
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
        asker_tell(asker, HOLDER_GONE, m->host, 0, NULL, 0);
        return;
    }
    struct start *s = must(malloc(sizeof(*s)));
    *s = (struct start){
        .next = a->starts, .number = ++h->last_number, .host = m->host, .asker = asker};
    a->starts = s;
    agent_tell(a, s->number, AGENT_START, preamble, n);
}

/* Keeps agents for the longest time that any mprun asks for. If the holder cannot see the end of
 * the job, it keeps no agent. */
static void take_keep(struct holder *h, int keep)
{
    h->is_kept |= h->sees_end;
    if (h->sees_end && h->keep >= 0 && (keep < 0 || keep > h->keep))
        h->keep = keep;
}

static void take_need(struct asker *a, const char *host, int slots)
{
    if (a->has_slots || slots < 0) {
        a->is_gone = true;
        return;
    }
    a->needs = must(reallocarray(a->needs, a->nneeds + 1, sizeof(*a->needs)));
    a->needs[a->nneeds++] =
        (struct holder_taken){.host = holder_host_hash(host), .slots = (uint64_t)slots};
}

static void take_turn(struct holder *h, struct asker *a)
{
    a->waits = a->turn > 0;
    if (!a->turn)
        a->turn = ++h->last_turn;
}

/* One at a time, when it is asked for: an agent's channel has room for it. */
static void take_meet(const struct holder *h, struct asker *asker, int32_t before)
{
    const struct asker *last = NULL;
    for (const struct asker *a = h->askers; a; a = a->next)
        if (!a->is_gone && a->meets_number < before &&
            a->meets_number > (last ? last->meets_number : 0))
            last = a;
    asker_tell(asker, HOLDER_MET, 0, last ? last->meets_number : 0, last ? last->meets : NULL,
               last ? last->nmeets : 0);
}

static void take_first_meet(struct holder *h, struct asker *asker, const uint8_t *data, size_t n)
{
    if (asker->meets || n > HOLDER_MEETS_MAX) {
        asker->is_gone = true;
        return;
    }
    asker->meets = must(malloc(n));
    memcpy(asker->meets, data, n);
    asker->nmeets = n;
    asker->meets_number = ++h->last_meets;
    take_meet(h, asker, asker->meets_number);
}

/* data: a host's name with its end; for START the preamble follows. */
void asker_take_message(struct holder *h, struct asker *asker, struct holder_message *m,
                        int fds[HOLDER_FDS])
{
    size_t name = strnlen((char *)m->data, m->size) + 1;
    if (name > m->size) {
        asker->is_gone = true;
        return;
    }
    struct agent *a = agent_find(h, (char *)m->data);
    bool is_own = a && a->starts_it == asker;
    if (m->what == HOLDER_ASK)
        take_ask(h, asker, m->host, (char *)m->data);
    else if (m->what == HOLDER_GIVE && is_own && fds[0] >= 0 && fds[1] >= 0)
        take_give(a, m->value, fds, m->size - name == LINK_KEY ? m->data + name : NULL);
    else if (m->what == HOLDER_CLIENT)
        take_client(h, fds);
    else if (m->what == HOLDER_CANNOT && is_own)
        a->is_gone = !agent_start_by_next(a);
    else if (m->what == HOLDER_NEED)
        take_need(asker, (char *)m->data, m->value);
    else if (m->what == HOLDER_TURN)
        take_turn(h, asker);
    else if (m->what == HOLDER_TAKE)
        asker->has_slots = true;
    else if (m->what == HOLDER_KEEP)
        take_keep(h, m->value);
    else if (m->what == HOLDER_DOWN)
        h->keep = 0;
    else if (m->what == HOLDER_MEET && m->size > name)
        take_first_meet(h, asker, m->data + name, m->size - name);
    else if (m->what == HOLDER_MEET)
        take_meet(h, asker, m->value);
    else if (m->what == HOLDER_OVER)
        asker->is_over = true;
    else if (m->what == HOLDER_LEAVE && a && !a->starts_it && !a->starts)
        agent_end(a);
    else if (m->what == HOLDER_START && a && !a->starts_it && !a->is_ending)
        take_start(h, a, asker, m, m->data + name, m->size - name);
    else if (m->what == HOLDER_START)
        asker_tell(asker, HOLDER_GONE, m->host, 0, NULL, 0);
}
