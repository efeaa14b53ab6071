/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/errands/errands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/must.h"
#include "containment/step/tree.h"
#include "starter/containment/step-containment.h"
#include "starter/errands/errand-processes.h"
#include "starter/keeper/keeper-channel.h"
#include "starter/links/uplink.h"
#include "starter/services.h"
#include "starter/ending/step-end.h"
#include "wire/messages/errand.h"
#include "wire/start-channel/preamble.h"

enum { REST_READS = 64 }; /* of 2 KiB: a pipe's 64 KiB and more */

struct errand {
    struct errands *all;
    struct errand *next;
    uint32_t id;
    int in_fd; /* -1: it has got its input */
    int out_fd;
    struct loop_io *out_io;
    struct await awaited;            /* mpstarter's word that it is there */
    int is_ready;                    /* mpstarter has said so: send it the input */
    int is_home;                     /* it is in a cgroup where it may stay */
    uint8_t input[ERRAND_INPUT_MAX]; /* may have a step's key */
    size_t ninput;
    size_t said;
    uint8_t last[ERRAND_LAST_MAX]; /* its last output, mostly the reason; sent at its end */
    size_t nlast, nnot_told;       /* bytes in `last`; bytes before it that were dropped */
    char *refused;                 /* why it is refused; sent when it has ended */
};

static void tell(struct errands *all, uint32_t id, enum errand_news what, const void *text,
                 size_t n, int status)
{
    Mprun__ErrandNews m = MPRUN__ERRAND_NEWS__INIT;
    m.id = id;
    m.what = what;
    m.text = (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)text, .len = n};
    m.status = status;
    uplink_send(all->services->up, FRAME_ERRAND_NEWS, &m.base);
}

static void refuse(struct errands *all, uint32_t id, const char *why)
{
    tell(all, id, ERRAND_REFUSED, why, strlen(why), 0);
}

static void errand_free(struct errand *e)
{
    loop_io_destroy(e->out_io);
    cleanup_close(&e->in_fd);
    cleanup_close(&e->out_fd);
    explicit_bzero(e->input, sizeof(e->input));
    free(e->refused);
    free(e);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static void keep_last(struct errand *e, const char *text, size_t n)
{
    if (n > sizeof(e->last)) {
        e->nnot_told += n - sizeof(e->last);
        text += n - sizeof(e->last);
        n = sizeof(e->last);
    }
    size_t drop = e->nlast + n > sizeof(e->last) ? e->nlast + n - sizeof(e->last) : 0;
    memmove(e->last, e->last + drop, e->nlast - drop);
    e->nlast -= drop;
    e->nnot_told += drop;
    memcpy(e->last + e->nlast, text, n);
    e->nlast += n;
}

/* Sends mprun as much output as it takes of one errand. */
static void pass_on(struct errand *e, const char *text, size_t n)
{
    size_t now = n < ERRAND_SAYS_MAX - e->said ? n : ERRAND_SAYS_MAX - e->said;
    e->said += now;
    if (now > 0 && !e->refused)
        tell(e->all, e->id, ERRAND_SAID, text, now, 0);
    keep_last(e, text + now, n - now);
}

static void tell_last(struct errand *e)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "\n(%zu bytes left out)\n", e->nnot_told);
    if (e->nnot_told)
        tell(e->all, e->id, ERRAND_SAID, text, (size_t)n, 0);
    if (e->nlast)
        tell(e->all, e->id, ERRAND_SAID, e->last, e->nlast, 0);
}

static void stop_reading(struct errand *e)
{
    char text[AWAIT_MAX];
    pass_on(e, text, await_rest(&e->awaited, text));
    loop_io_destroy(take_ptr(e->out_io));
}

static void close_input(struct errand *e)
{
    explicit_bzero(e->input, sizeof(e->input));
    cleanup_close(&e->in_fd);
}

/* A pipe takes all of the input at once. */
static void feed(struct errand *e)
{
    if (!e->is_ready || !e->is_home || e->in_fd < 0)
        return;
    if (fd_write_all(e->in_fd, e->input, e->ninput) < 0)
        log_debug("on %s: an errand takes no input",
                  e->all->services->hostname); /* mprun hears of its end */
    close_input(e);
}

static void heard(struct errand *e, const char *p, size_t n)
{
    char text[2048 + AWAIT_MAX];
    int found;
    pass_on(e, text, await_take(&e->awaited, p, n, text, &found));
    e->is_ready |= found;
    feed(e);
}

/* Returns 1 if there may be more to read. mpstarter's word may follow a login script's output.
 * Reads also what mprun does not get, so that the client never waits for a reader. */
static int read_some(struct errand *e)
{
    char buf[2048];
    ssize_t n = read(e->out_fd, buf, sizeof(buf));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    if (n > 0) {
        heard(e, buf, (size_t)n);
        return 1;
    }
    close_input(e); /* a client that says nothing more will not be ready */
    stop_reading(e);
    return 0;
}

static void readable(void *arg, int fd, unsigned events)
{
    read_some(arg);
}

static int watch_output(struct errand *e)
{
    e->out_io = loop_io_create(e->all->services->loop, e->out_fd, LOOP_READ, readable, e);
    return fd_set_nonblock(e->out_fd, 1);
}

/* ---- asking the keeper ----------------------------------------------------------------------- */

/* Packs arguments, each with its NUL. -1: too long, or one is empty or has a NUL. */
static int add_words(char *to, size_t *at, const ProtobufCBinaryData *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ProtobufCBinaryData *b = &words[i];
        if (b->len == 0 || memchr(b->data, 0, b->len) || *at + b->len + 2 > ERRAND_WORDS_MAX)
            return -1;
        memcpy(to + *at, b->data, b->len);
        *at += b->len;
        to[(*at)++] = 0;
    }
    return 0;
}

static int ask_keeper(struct errand *e, const Mprun__Errand *m)
{
    struct errand_request q = {.id = m->id};
    char packet[KEEPER_PACKET] = {KEEPER_ERRAND}, *words = packet + 1 + sizeof(q);
    size_t n = 0;
    memcpy(packet + 1, &q, sizeof(q));
    if (add_words(words, &n, m->argv, m->n_argv) < 0)
        return error_number(E2BIG);
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int rc = pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ? -1 : 0;
    e->in_fd = in[1];
    e->out_fd = out[0];
    if (rc == 0)
        rc = watch_output(e);
    if (rc == 0)
        rc = fd_packet_send(e->all->services->keeper_fd, packet, 1 + sizeof(q) + n,
                            (int[]){in[0], out[1], out[0]}, 3);
    cleanup_close(&in[0]);
    cleanup_close(&out[1]);
    return rc;
}

static struct errand *errand_create(struct errands *all, const Mprun__Errand *m)
{
    struct errand *e = must(calloc(1, sizeof(*e)));
    *e = (struct errand){.all = all,
                         .id = m->id,
                         .in_fd = -1,
                         .out_fd = -1,
                         .ninput = m->input.len,
                         .awaited = {.word = PREAMBLE_READY}};
    if (m->input.len)
        memcpy(e->input, m->input.data, m->input.len);
    return e;
}

static void take(struct errands *all, const Mprun__Errand *m)
{
    if (all->services->end->has_begun || all->has_no_parent) {
        refuse(all, m->id, "its part of the step is ending");
        return;
    }
    struct errand *e = errand_create(all, m);
    if (ask_keeper(e, m) < 0) {
        refuse(all, m->id, strerror(errno));
        errand_free(e);
        return;
    }
    e->next = all->first;
    all->first = e;
}

int errands_take(struct errands *all, Mprun__Errand *m)
{
    bool is_too_much = m->input.len > ERRAND_INPUT_MAX;
    if (!is_too_much)
        take(all, m);
    if (m->input.data)
        explicit_bzero(m->input.data, m->input.len);
    return is_too_much ? -1 : 0;
}

/* ---- what they answer ------------------------------------------------------------------------ */

/* The errand waits for its input, and has started nothing so far. So it can be moved out of the
 * step's cgroups, which it outlives, and where an agent is not. If that fails, it gets no input and
 * ends by that; it is refused only then, so that no second one runs beside it. */
static void has_pid(struct errand *e, pid_t pid)
{
    const struct starter_services *with = e->all->services;
    struct cgroup_tree *tree = with->keeper_is_agent ? NULL : with->containment->tree;
    struct error err;
    if (tree && cgroup_tree_send_home(tree, pid, &err) < 0) {
        e->refused = must(strdup(err.text));
        close_input(e);
    }
    e->is_home = 1;
    feed(e);
    if (!e->refused)
        tell(e->all, e->id, ERRAND_STARTED, NULL, 0, 0);
}

static void over(struct errand *e, const struct errand_reply *r)
{
    /* Reads what is in the pipe; another process may hold it open, and write on for ever. */
    for (int i = 0; i < REST_READS && e->out_io && read_some(e); i++)
        ;
    if (r->what == ERRAND_FAILED) {
        refuse(e->all, e->id, strerror(r->value));
    } else if (e->refused) {
        refuse(e->all, e->id, e->refused);
    } else {
        tell_last(e);
        tell(e->all, e->id, ERRAND_ENDED, NULL, 0, r->value);
    }
    errand_free(e);
}

static void answered(struct errands *all, const struct errand_reply *r)
{
    struct errand **at = &all->first, *e;
    while (*at && (*at)->id != r->id)
        at = &(*at)->next;
    if (!(e = *at))
        return;
    if (r->what == ERRAND_HAS_PID) {
        has_pid(e, (pid_t)r->value);
        return;
    }
    *at = e->next;
    over(e, r);
}

/* Returns false when the other side has gone. */
static bool take_replies(struct errands *all, int fd)
{
    struct errand_reply r;
    ssize_t n;
    do {
        n = recv(fd, &r, sizeof(r), MSG_DONTWAIT);
        if (n == (ssize_t)sizeof(r))
            answered(all, &r);
    } while (n == (ssize_t)sizeof(r) || (n < 0 && errno == EINTR));
    return n < 0 && errno == EAGAIN;
}

bool errands_keeper_readable(struct errands *all)
{
    all->has_no_parent = !take_replies(all, all->services->keeper_fd);
    return !all->has_no_parent;
}

void errands_close(struct errands *all)
{
    while (all->first) {
        struct errand *e = all->first;
        all->first = e->next;
        errand_free(e);
    }
}
