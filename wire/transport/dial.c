/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/transport/dial.h"

#include <stdbool.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "wire/tunables.h"
#include "wire/transport/address.h"

struct dial {
    struct loop *loop;
    struct loop_timer limit;
    struct loop_defer end; /* the callback is never called from dial_create() */
    dial_fn fn;
    void *arg;
    struct candidate {
        struct dial *dial;
        char text[100];
        int fd;
        int code; /* why it failed; 0: it has not */
        int decisive;
        struct loop_io *io;
    } c[DIAL_ADDRESSES_MAX];
    size_t n;
    const char *doing; /* how the sentence about a failure begins */
    int winner;
    int over;
};

static void hang_up(struct candidate *c)
{
    loop_io_destroy(take_ptr(c->io));
    cleanup_close(&c->fd);
}

void dial_destroy(struct dial *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n; i++)
        hang_up(&d->c[i]);
    cleanup_close(&d->winner);
    loop_timer_stop(&d->limit);
    loop_defer_stop(&d->end);
    free(d);
}

static void describe(const struct dial *d, struct error *e)
{
    char why[800] = "";
    int code = d->n ? ECONNREFUSED : EINVAL, decided = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct candidate *c = &d->c[i];
        size_t at = strlen(why);
        int its = c->code ? c->code : ETIMEDOUT;
        snprintf(why + at, sizeof(why) - at, "%s'%s': %s", i ? "; " : "", c->text, strerror(its));
        if (its != ECONNREFUSED && code == ECONNREFUSED)
            code = its;
        decided |= c->decisive && its == ECONNREFUSED;
    }
    error_set(e, decided ? ECONNREFUSED : code, "%s %s", d->doing, d->n ? why : "no address");
}

static void ended(void *arg)
{
    struct dial *d = arg;
    struct error e = {0};
    if (d->over)
        return;
    d->over = 1;
    loop_timer_stop(&d->limit);
    if (d->winner < 0)
        describe(d, &e);
    for (size_t i = 0; i < d->n; i++)
        hang_up(&d->c[i]);
    d->fn(d->arg, take_fd(&d->winner), &e);
}

static bool all_failed(const struct dial *d)
{
    size_t failed = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->c[i].decisive && d->c[i].code == ECONNREFUSED)
            return true;
        failed += d->c[i].code != 0;
    }
    return failed == d->n;
}

static void answered(void *arg, int fd, unsigned events)
{
    struct candidate *c = arg;
    struct dial *d = c->dial;
    socklen_t len = sizeof(c->code);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &c->code, &len);
    loop_io_destroy(take_ptr(c->io));
    if (c->code)
        hang_up(c);
    else if (d->winner < 0)
        d->winner = take_fd(&c->fd);
    if (d->winner >= 0 || all_failed(d))
        loop_defer_schedule(&d->end);
}

static void begin(struct dial *d, const char *address, const char *decisive)
{
    struct candidate *c = &d->c[d->n++];
    c->dial = d;
    snprintf(c->text, sizeof(c->text), "%s", address);
    c->decisive = decisive && strcmp(decisive, address) == 0;
    c->fd = address_begin(address);
    c->code = c->fd < 0 ? errno : 0;
    if (c->fd >= 0)
        c->io = loop_io_create(d->loop, c->fd, LOOP_WRITE, answered, c);
}

struct dial *dial_create(struct loop *loop, const char *addresses, const char *decisive,
                         double seconds, dial_fn fn, void *arg)
{
    char address[ADDRESS_TEXT];
    struct dial *d = must(calloc(1, sizeof(*d)));
    d->loop = loop;
    d->fn = fn;
    d->doing = "connect to";
    d->arg = arg;
    d->winner = -1;
    loop_timer_init(&d->limit, loop, ended, d);
    loop_defer_init(&d->end, loop, ended, d);
    if (decisive && decisive[0])
        begin(d, decisive, decisive);
    while (d->n < DIAL_ADDRESSES_MAX && (addresses = address_next(addresses, address)))
        if (!decisive || strcmp(decisive, address) != 0)
            begin(d, address, decisive);
    loop_timer_start(&d->limit, seconds, 0);
    if (all_failed(d))
        loop_defer_schedule(&d->end);
    return d;
}

/* ---- waiting ---- */

struct wait {
    struct loop *loop;
    int fd;
    struct error *err;
};

static void wait_over(void *arg, int fd, const struct error *why)
{
    struct wait *w = arg;
    w->fd = fd;
    if (fd < 0)
        error_set(w->err, why->code, "%s", why->text);
    loop_stop(w->loop);
}

int dial_wait(const char *addresses, double seconds, struct error *err)
{
    struct wait w = {.loop = loop_create(err), .fd = -1, .err = err};
    if (!w.loop)
        return -1;
    struct dial *d = dial_create(w.loop, addresses, NULL, seconds, wait_over, &w);
    d->doing = "connect to the launcher at";
    loop_run(w.loop);
    dial_destroy(d);
    loop_destroy(w.loop);
    return w.fd;
}
