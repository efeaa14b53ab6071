/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/simple-pmi/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/files/fdio.h"
#include "common/must.h"
#include "model/step.h"
#include "pmix-server/pmix/spawn.h"
#include "pmix-server/server.h"
#include "pmix-server/simple-pmi/spawn-request.h"
#include "pmix-server/world.h"
#include "wire/little-endian.h"

static void connection_destroy(struct connection *c)
{
    LIST_REMOVE(c, list);
    if (c->dialect->gone)
        c->dialect->gone(c);
    spawn_request_destroy(c->spawn);
    loop_io_destroy(c->io);
    close(c->fd);
    buffer_free(&c->in);
    buffer_free(&c->out);
    free(c);
}

/* While a rank does not read its answers, its requests wait. */
static void await(struct connection *c)
{
    size_t unread = buffer_len(&c->out);
    loop_io_set(c->io, (unread < PMI_UNREAD_MAX ? LOOP_READ : 0) | (unread ? LOOP_WRITE : 0));
}

/* Drops what the rank does not read any more; the end of its input will show whether it is gone. */
static void write_answers(struct connection *c)
{
    if (buffer_len(&c->out) && buffer_write(&c->out, c->fd) < 0 && errno != EAGAIN)
        buffer_consume(&c->out, buffer_len(&c->out));
    await(c);
}

/* Answers are far smaller than a socket's buffer, and a rank waits for each: so bytes that do not
 * go out at once are rare, and wait. */
void connection_send(struct connection *c, const char *bytes, size_t n)
{
    buffer_append(&c->out, bytes, n);
    write_answers(c);
}

void connection_refuse(const struct connection *c, const char *why)
{
    struct error err;
    error_set(&err, EPROTO, "PMI of rank %u: %s", c->rank, why);
    server_fail(c->pmi->server, &err);
}

/* Returns the connection of a rank; NULL: it has none. */
static struct connection *connection_find(const struct simple_pmi *p, uint32_t world, uint32_t rank)
{
    struct connection *c;
    LIST_FOREACH(c, &p->connections, list)
    if (c->space && c->space->world == world && c->rank == rank)
        break;
    return c;
}

const struct world *connection_world(const struct connection *c)
{
    return world_by_number(c->pmi->server->worlds, c->space->world);
}

/* ---- requests that mprun answers ------------------------------------------------------------- */

struct caller *caller_create(const struct connection *c, const char *command, const char *thread)
{
    struct caller *call = must(malloc(sizeof(*call)));
    *call = (struct caller){c->pmi, c->space->world, c->rank, command, ""};
    snprintf(call->thread, sizeof(call->thread), "%s", thread);
    return call;
}

struct connection *caller_take(struct caller *call, struct caller *ret)
{
    *ret = *call;
    free(call);
    return connection_find(ret->pmi, ret->world, ret->rank);
}

static void spawned(pmix_status_t status, char nspace[], void *cbdata)
{
    struct caller call;
    struct connection *c = caller_take(cbdata, &call);
    if (c)
        c->dialect->spawned(c, call.thread,
                            status == PMIX_SUCCESS ? world_by_nspace(c->pmi->server->worlds, nspace)
                                                   : NULL);
}

void connection_spawn(struct connection *c, struct spawn_request *r, const char *thread)
{
    struct rank_name parent = {.world = c->space->world, .rank = c->rank};
    Mprun__Spawn *m = spawn_request_finish(r);
    struct asker asker = {.spawn = spawned, .cbdata = caller_create(c, NULL, thread)};
    if (!m) {
        asker_answer(&asker, PMIX_ERR_BAD_PARAM, NULL, 0);
        return;
    }
    m->pmi = PMI_KINDS_SIMPLE; /* the PMIx library leaks memory for each namespace that it gets */
    spawn_send(c->pmi->server, m, parent, &asker);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void take_requests(struct connection *c)
{
    size_t n, taken = 1;
    while (taken && !c->pmi->server->exit_code && (n = buffer_len(&c->in))) {
        taken = c->dialect->take(c, (char *)buffer_ptr(&c->in), n);
        buffer_consume(&c->in, taken);
    }
}

/* Returns -1 if the rank is not one of this host. */
static int identify(struct connection *c, uint32_t world, uint32_t rank)
{
    const struct world *w = world_by_number(c->pmi->server->worlds, world);
    c->rank = rank;
    if (w && world_is_local(w, rank))
        c->space = space_for(c->pmi, w);
    return c->space ? 0 : -1;
}

/* Returns 0 when the connection has a rank; -1 when it was dropped or has to wait. */
static int take_hello(struct connection *c)
{
    if (c->space)
        return 0;
    if (buffer_len(&c->in) < SIMPLE_PMI_HELLO)
        return -1;
    const uint8_t *hello = buffer_ptr(&c->in);
    if (identify(c, get32(hello), get32(hello + 4)) < 0) {
        connection_destroy(c);
        return -1;
    }
    buffer_consume(&c->in, SIMPLE_PMI_HELLO);
    return 0;
}

/* Reads once and handles the requests. Returns 0: nothing is there, or the connection is gone. */
static int connection_read(struct connection *c)
{
    ssize_t n = buffer_read(&c->in, c->fd, PMI_READ);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        connection_destroy(c);
        return 0;
    }
    if (take_hello(c) < 0)
        return 0;
    take_requests(c);
    return 1;
}

static void connection_ready(void *arg, int fd, unsigned events)
{
    struct connection *c = arg;
    if (events & LOOP_WRITE)
        write_answers(c);
    if (events & LOOP_READ)
        connection_read(c);
}

/* Makes a connection; takes fd. */
static struct connection *connection_create(struct simple_pmi *p, int fd)
{
    struct connection *c = must(calloc(1, sizeof(*c)));
    c->io = must(loop_io_create(p->server->loop, fd, LOOP_READ, connection_ready, c));
    c->pmi = p;
    c->fd = fd;
    c->dialect = &pmi1_dialect;
    LIST_INSERT_HEAD(&p->connections, c, list);
    return c;
}

static void listener_ready(void *arg, int fd, unsigned events)
{
    struct simple_pmi *p = arg;
    int got;
    while ((got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        connection_create(p, got);
}

void simple_pmi_adopt(struct simple_pmi *p, const Mprun__PmiConnection *m)
{
    struct connection *c = NULL;
    if (m->name && fd_set_nonblock((int)m->fd, 1) == 0)
        c = connection_create(p, (int)m->fd);
    if (c && identify(c, m->name->world, m->name->rank) < 0)
        connection_destroy(c);
}

/* A rank that aborts does not wait for an answer: its last requests may be unread. Reads what is
 * there now, and no more: a process that the rank has left behind may write on. */
void simple_pmi_rank_gone(struct simple_pmi *p, uint32_t world, uint32_t rank)
{
    struct connection *c = connection_find(p, world, rank);
    int unread = 0;
    if (c && ioctl(c->fd, FIONREAD, &unread) < 0)
        unread = 0;
    for (; c && unread > 0; unread -= PMI_READ)
        if (!connection_read(c))
            return;
}

/* A process that a rank has left behind may still be connected. */
void simple_pmi_world_ended(struct simple_pmi *p, uint32_t world)
{
    struct space *s = p->spaces;
    struct connection *next;
    while (s && s->world != world)
        s = s->next;
    for (struct connection *c = LIST_FIRST(&p->connections); c; c = next) {
        next = LIST_NEXT(c, list);
        if (c->space && c->space == s)
            connection_destroy(c);
    }
    space_destroy(s);
}

void simple_pmi_listen(struct server *s, int fd)
{
    struct simple_pmi *p = &s->simple_pmi;
    p->server = s;
    p->io = must(loop_io_create(s->loop, fd, LOOP_READ, listener_ready, p));
}
