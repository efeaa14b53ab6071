/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmi1/pmi1.h"

#include <stdbool.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "pmix-server/pmi1/pairs.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"
#include "wire/little-endian.h"

struct space { /* a world, as PMI-1 sees it */
    struct space *next;
    struct pmi1 *pmi;
    uint32_t world;
    struct kvs kvs;
    struct buffer fresh; /* put here since the last barrier, packed */
    uint32_t waiting;    /* local ranks in the barrier */
};

struct connection {
    LIST_ENTRY(connection) list;
    struct pmi1 *pmi;
    struct space *space; /* NULL until the hello has come */
    uint32_t rank;
    int fd, in_barrier;
    size_t nput; /* bytes */
    struct loop_io *io;
    struct buffer in, out;
};

/* ---- connections ----------------------------------------------------------------------------- */

static void connection_destroy(struct connection *c)
{
    LIST_REMOVE(c, list);
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
    loop_io_set(c->io, (unread < PMI1_UNREAD_MAX ? LOOP_READ : 0) | (unread ? LOOP_WRITE : 0));
}

/* Answers are far smaller than a socket's buffer, and a rank waits for each: what does not go out
 * at once is rare, and waits. */
static void answer(struct connection *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void answer(struct connection *c, const char *fmt, ...)
{
    char line[PMI1_LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= (int)sizeof(line) - 1)
        return;
    line[n++] = '\n';
    if (buffer_append(&c->out, line, (size_t)n) < 0)
        return;
    if (buffer_write(&c->out, c->fd) < 0 && errno != EAGAIN)
        return; /* the rank is gone: the end of its input will tell */
    await(c);
}

static struct world *world_of(const struct connection *c)
{
    return world_by_number(c->pmi->server->worlds, c->space->world);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static void barrier_out(struct space *s)
{
    s->waiting = 0;
    struct connection *c;
    LIST_FOREACH(c, &s->pmi->connections, list)
    {
        if (c->space != s || !c->in_barrier)
            continue;
        c->in_barrier = 0;
        answer(c, "cmd=barrier_out");
    }
}

/* All hosts have come to the barrier: data is what each of them has put. */
static void barrier_collected(pmix_status_t status, const char *data, size_t n, void *cbdata,
                              pmix_release_cbfunc_t release, void *release_data)
{
    struct space *s = cbdata;
    if (status != PMIX_SUCCESS || kvs_put_packed(&s->kvs, (const uint8_t *)data, n) < 0) {
        struct error err;
        error_set(&err, EIO, "PMI-1 barrier of world %u: damaged data from other hosts", s->world);
        server_fail(s->pmi->server, &err);
    } else {
        barrier_out(s);
    }
    if (release)
        release(release_data);
}

static void cmd_barrier_in(struct connection *c, const struct pmi1_line *l)
{
    struct space *s = c->space;
    const struct world *w = world_of(c);
    if (c->in_barrier)
        return;
    c->in_barrier = 1;
    if (++s->waiting < rank_set_count(world_local_ranks(w)))
        return;
    if (w->nnodes == 1) {
        buffer_consume(&s->fresh, buffer_len(&s->fresh));
        barrier_out(s);
        return;
    }
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, w->nspace, PMIX_RANK_WILDCARD);
    struct collective_call call = {.kind = COLLECTIVE_BARRIER,
                                   .procs = &all,
                                   .nprocs = 1,
                                   .ndata = buffer_len(&s->fresh),
                                   .asker = {.modex = barrier_collected, .cbdata = s}};
    if (call.ndata)
        call.data = (const char *)buffer_ptr(&s->fresh);
    pmix_status_t rc = collective_upcall(s->pmi->server, &call);
    if (rc != PMIX_SUCCESS)
        asker_answer(&call.asker, rc, NULL, 0);
    buffer_consume(&s->fresh, buffer_len(&s->fresh));
}

/* ---- commands -------------------------------------------------------------------------------- */

static void cmd_init(struct connection *c, const struct pmi1_line *l)
{
    int version;
    if (pmi1_number(l, "pmi_version", 1000, &version) < 0 || version != 1) {
        answer(c, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
        return;
    }
    server_tell_client(c->pmi->server, world_of(c), c->rank, 1);
    answer(c, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
}

static void cmd_maxes(struct connection *c, const struct pmi1_line *l)
{
    answer(c, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", PMI1_NAME_MAX, PMI1_KEY_MAX,
           PMI1_VALUE_MAX);
}

static void cmd_appnum(struct connection *c, const struct pmi1_line *l)
{
    const struct world *w = world_of(c);
    const struct world_app *app = world_app_of(w, c->rank);
    answer(c, "cmd=appnum appnum=%d", app ? (int)(app - w->apps) : 0);
}

static void cmd_universe_size(struct connection *c, const struct pmi1_line *l)
{
    answer(c, "cmd=universe_size size=%u", world_of(c)->nranks);
}

static void cmd_my_kvsname(struct connection *c, const struct pmi1_line *l)
{
    answer(c, "cmd=my_kvsname kvsname=world-%u", c->space->world);
}

static bool is_our_kvs(const struct connection *c, const struct pmi1_line *l)
{
    char own[32];
    const char *name = pmi1_field(l, "kvsname");
    snprintf(own, sizeof(own), "world-%u", c->space->world);
    return name && !strcmp(name, own);
}

static void cmd_put(struct connection *c, const struct pmi1_line *l)
{
    const char *key = pmi1_field(l, "key"), *value = pmi1_field(l, "value");
    if (!is_our_kvs(c, l) || !key || !value || strlen(key) >= PMI1_KEY_MAX ||
        strlen(value) >= PMI1_VALUE_MAX)
        answer(c, "cmd=put_result rc=-1 msg=bad_put");
    else if ((c->nput += strlen(key) + strlen(value)) > PMI1_PUT_MAX)
        answer(c, "cmd=put_result rc=-1 msg=more_than_%d_bytes_of_a_rank", PMI1_PUT_MAX);
    else if (kvs_put(&c->space->kvs, key, value) < 0 || kvs_pack(&c->space->fresh, key, value) < 0)
        answer(c, "cmd=put_result rc=-1 msg=out_of_memory");
    else
        answer(c, "cmd=put_result rc=0 msg=success");
}

static void cmd_get(struct connection *c, const struct pmi1_line *l)
{
    const char *key = pmi1_field(l, "key");
    const char *value = key && is_our_kvs(c, l) ? kvs_get(&c->space->kvs, key) : NULL;
    if (value)
        answer(c, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        answer(c, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
}

static void cmd_finalize(struct connection *c, const struct pmi1_line *l)
{
    server_tell_client(c->pmi->server, world_of(c), c->rank, 0);
    answer(c, "cmd=finalize_ack");
}

/* No answer: the rank waits to be ended. */
static void cmd_abort(struct connection *c, const struct pmi1_line *l)
{
    int code;
    if (pmi1_number(l, "exitcode", INT32_MAX, &code) < 0)
        code = 1;
    server_tell_abort(c->pmi->server, world_of(c), c->rank, code, "");
}

static const struct {
    const char *name;
    void (*run)(struct connection *c, const struct pmi1_line *l);
    const char *answer; /* always this one, instead of `run` */
} commands[] = {
    {"init", cmd_init, NULL},
    {"get_maxes", cmd_maxes, NULL},
    {"get_appnum", cmd_appnum, NULL},
    {"get_universe_size", cmd_universe_size, NULL},
    {"get_my_kvsname", cmd_my_kvsname, NULL},
    {"put", cmd_put, NULL},
    {"get", cmd_get, NULL},
    {"barrier_in", cmd_barrier_in, NULL},
    {"finalize", cmd_finalize, NULL},
    {"abort", cmd_abort, NULL},
    {"publish_name", NULL, "cmd=publish_result rc=-1 msg=not_supported"},
    {"unpublish_name", NULL, "cmd=unpublish_result rc=-1 msg=not_supported"},
    {"lookup_name", NULL, "cmd=lookup_result rc=-1 msg=not_supported"},
};

/* ---- input ----------------------------------------------------------------------------------- */

/* mppmi cannot answer a request that it does not understand, and the rank would wait for ever. */
static void refuse(struct connection *c, const char *why)
{
    struct error err;
    error_set(&err, EPROTO, "PMI-1 of rank %u: %s", c->rank, why);
    server_fail(c->pmi->server, &err);
}

static void run_line(struct connection *c, char *line)
{
    struct pmi1_line l;
    const char *name = pmi1_parse(line, &l) == 0 ? pmi1_field(&l, "cmd") : NULL;
    if (!name) {
        refuse(c, "a line that is no command");
        return;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        if (commands[i].answer)
            answer(c, "%s", commands[i].answer);
        else
            commands[i].run(c, &l);
        return;
    }
    refuse(c, "a command that mppmi does not have (spawn is one)");
}

static void take_lines(struct connection *c)
{
    while (!c->pmi->server->exit_code) {
        size_t n = buffer_len(&c->in);
        char *start = (char *)buffer_ptr(&c->in);
        char *end = n ? memchr(start, '\n', n) : NULL;
        if (!end) {
            if (n >= PMI1_LINE_MAX)
                refuse(c, "a line that does not end");
            return;
        }
        *end = 0;
        run_line(c, start);
        buffer_consume(&c->in, (size_t)(end + 1 - start));
    }
}

static struct space *space_for(struct pmi1 *p, const struct world *w)
{
    struct space *s = p->spaces;
    while (s && s->world != w->number)
        s = s->next;
    if (s)
        return s;
    AUTO_FREE char *mapping = world_process_mapping(w);
    s = calloc(1, sizeof(*s));
    /* Too long a mapping has to be absent: MPI finds out for itself then. */
    if (!s || !mapping ||
        (strlen(mapping) < PMI1_VALUE_MAX &&
         kvs_put(&s->kvs, "PMI_process_mapping", mapping) < 0)) {
        free(s);
        return NULL;
    }
    s->pmi = p;
    s->world = w->number;
    s->next = p->spaces;
    p->spaces = s;
    return s;
}

/* 0 when the connection has a rank, -1 when it was dropped or has to wait. */
static int take_hello(struct connection *c)
{
    if (c->space)
        return 0;
    if (buffer_len(&c->in) < PMI1_HELLO)
        return -1;
    const uint8_t *hello = buffer_ptr(&c->in);
    const struct world *w = world_by_number(c->pmi->server->worlds, get32(hello));
    c->rank = get32(hello + 4);
    if (w && world_is_local(w, c->rank))
        c->space = space_for(c->pmi, w);
    if (!c->space) {
        connection_destroy(c);
        return -1;
    }
    buffer_consume(&c->in, PMI1_HELLO);
    return 0;
}

/* Reads once and handles the requests. 0: nothing is there now, or the connection is gone. */
static int connection_read(struct connection *c)
{
    ssize_t n = buffer_read(&c->in, c->fd, PMI1_READ);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        connection_destroy(c);
        return 0;
    }
    if (take_hello(c) < 0)
        return 0;
    take_lines(c);
    return 1;
}

static void connection_ready(void *arg, int fd, unsigned events)
{
    struct connection *c = arg;
    if (events & LOOP_WRITE) {
        if (buffer_len(&c->out) && buffer_write(&c->out, fd) < 0 && errno != EAGAIN)
            buffer_consume(&c->out, buffer_len(&c->out));
        await(c);
    }
    if (events & LOOP_READ)
        connection_read(c);
}

static void listener_ready(void *arg, int fd, unsigned events)
{
    struct pmi1 *p = arg;
    int got;
    while ((got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        struct connection *c = calloc(1, sizeof(*c));
        if (c)
            c->io = loop_io_create(p->server->loop, got, LOOP_READ, connection_ready, c);
        if (!c || !c->io) {
            free(c);
            close(got);
            continue;
        }
        c->pmi = p;
        c->fd = got;
        LIST_INSERT_HEAD(&p->connections, c, list);
    }
}

/* A rank that aborts does not wait for an answer: its last words may be unread. What is there now
 * is all that there is: a process that it has left behind may write on. */
void pmi1_rank_gone(struct pmi1 *p, uint32_t world, uint32_t rank)
{
    struct connection *c;
    LIST_FOREACH(c, &p->connections, list)
    if (c->space && c->space->world == world && c->rank == rank)
        break;
    int unread = 0;
    if (c && ioctl(c->fd, FIONREAD, &unread) < 0)
        unread = 0;
    for (; c && unread > 0; unread -= PMI1_READ)
        if (!connection_read(c))
            return;
}

/* ---- beginning ------------------------------------------------------------------------------- */

int pmi1_listen(struct server *s, struct error *err)
{
    struct pmi1 *p = &s->pmi1;
    if (p->io)
        return 0;
    p->server = s;
    p->address.sun_family = AF_UNIX;
    int n = snprintf(p->address.sun_path, sizeof(p->address.sun_path), "%s/pmi1", s->directory);
    if (n >= (int)sizeof(p->address.sun_path))
        return error_set(err, ENAMETOOLONG,
                         "listen for PMI-1: '%s/pmi1' is longer than the name of a socket can be",
                         s->directory);
    p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&p->address, sizeof(p->address)) < 0 ||
        listen(p->fd, SOMAXCONN) < 0)
        return error_errno(err, errno, "listen for PMI-1 at '%s'", p->address.sun_path);
    p->io = loop_io_create(s->loop, p->fd, LOOP_READ, listener_ready, p);
    return p->io ? 0 : error_errno(err, ENOMEM, "listen for PMI-1 at '%s'", p->address.sun_path);
}
