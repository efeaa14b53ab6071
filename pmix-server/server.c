/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "pmix-server/world.h"

int server_open(struct server *s, int fd, const struct link_events *events, struct error *err)
{
    static const struct link_options options = {.role = LINK_TRUSTED};
    s->loop = loop_create(err);
    if (!s->loop || bridge_init(&s->bridge, s->loop, s, err) < 0)
        return -1;
    requests_init(&s->requests, s->loop);
    store_init(&s->store);
    s->link = link_create(s->loop, fd, fd, &options, "mpstarter", events, s, err);
    return s->link ? 0 : -1;
}

int server_init(struct server *s, const Mprun__PmiInit *m, struct error *err)
{
    if (s->directory)
        return error_set(err, EEXIST, "start the PMIx library: it is running already");
    s->directory = strndup(m->directory.data ? (char *)m->directory.data : "", m->directory.len);
    s->hostname = strndup(m->hostname.data ? (char *)m->hostname.data : "", m->hostname.len);
    if (!s->directory || !s->hostname)
        return error_errno(err, ENOMEM, "start the PMIx library");
    if (s->directory[0] != '/' || !s->hostname[0])
        return error_set(err, EINVAL, "start the PMIx library: no directory, or no name, given");
    return 0;
}

void server_add_world(struct server *s, struct world *w)
{
    w->next = s->worlds;
    s->worlds = w;
}

void server_had_client(struct server *s)
{
    s->had_clients = true;
}

void server_fail(struct server *s, const struct error *err)
{
    log_error("%s", err->text);
    Mprun__PmiFailed m = MPRUN__PMI_FAILED__INIT;
    m.text = (char *)err->text;
    link_send(s->link, FRAME_PMI_FAILED, &m.base);
    link_flush(s->link);
    server_lose(s);
}

void server_lose(struct server *s)
{
    s->exit_code = 1;
    loop_stop(s->loop);
}

void server_hold(struct server *s)
{
    s->busy++;
}

void server_release(struct server *s)
{
    s->busy--;
    if (s->ending)
        server_end(s);
}

void server_end(struct server *s)
{
    s->ending = true;
    if (!s->busy)
        loop_stop(s->loop);
}
