/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/pmi/first-contact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "model/step.h"

static void connection_close(struct first_connection *one)
{
    loop_io_destroy(take_ptr(one->watch));
    cleanup_close(&one->fd);
}

/* ---- who comes ------------------------------------------------------------------------------- */

static void pmix_connected(void *arg, int fd, unsigned events)
{
    const struct first_contact *c = arg;
    c->came(c->arg);
}

/* A rank that ends without having sent anything needs no server. */
static void rank_spoke(void *arg, int fd, unsigned events)
{
    struct first_contact *c = arg;
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n > 0)
        c->came(c->arg);
    for (size_t i = 0; n == 0 && i < c->nconnections; i++)
        if (c->connections[i].fd == fd)
            connection_close(&c->connections[i]);
}

bool first_contact_has_words(const struct first_contact *c, struct rank_name name)
{
    char byte;
    for (size_t i = 0; i < c->nconnections; i++)
        if (c->connections[i].name.rank == name.rank &&
            c->connections[i].name.incarnation == name.incarnation && c->connections[i].fd >= 0)
            return recv(c->connections[i].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    return false;
}

/* ---- sockets --------------------------------------------------------------------------------- */

static int listen_for_pmix(struct first_contact *c)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    c->pmix_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->pmix_fd < 0 || bind(c->pmix_fd, (struct sockaddr *)&a, n) < 0 ||
        listen(c->pmix_fd, SOMAXCONN) < 0 || getsockname(c->pmix_fd, (struct sockaddr *)&a, &n) < 0)
        return -1;
    c->pmix_port = ntohs(a.sin_port);
    c->pmix_watch = loop_io_create(c->loop, c->pmix_fd, LOOP_READ, pmix_connected, c);
    return 0;
}

static int listen_for_simple_pmi(struct first_contact *c, const char *directory)
{
    struct sockaddr_un *a = &c->simple_pmi;
    a->sun_family = AF_UNIX;
    if (snprintf(a->sun_path, sizeof(a->sun_path), "%s/pmi", directory) >= (int)sizeof(a->sun_path))
        return error_number(ENAMETOOLONG);
    c->simple_pmi_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return c->simple_pmi_fd >= 0 && bind(c->simple_pmi_fd, (struct sockaddr *)a, sizeof(*a)) == 0 &&
                   listen(c->simple_pmi_fd, SOMAXCONN) == 0
               ? 0
               : -1;
}

int first_contact_open(struct first_contact *c, struct loop *loop, const char *directory,
                       unsigned pmi, loop_fn came, void *arg, struct error *err)
{
    *c = (struct first_contact){
        .pmix_fd = -1, .simple_pmi_fd = -1, .loop = loop, .came = came, .arg = arg};
    if ((pmi & PMI_KIND_PMIX) && listen_for_pmix(c) < 0)
        return error_errno(err, errno, "listen for PMIx at 127.0.0.1");
    if ((pmi & PMI_KINDS_SIMPLE) && listen_for_simple_pmi(c, directory) < 0)
        return error_errno(err, errno, "listen for PMI at '%s/pmi'", directory);
    return 0;
}

int first_contact_connect(struct first_contact *c, struct rank_name name, struct error *err)
{
    size_t n = c->nconnections;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, errno, "connect to the PMI server");
    c->connections = must(realloc(c->connections, (n + 1) * sizeof(*c->connections)));
    c->connections[c->nconnections++] = (struct first_connection){
        .name = name,
        .fd = pair[0],
        .watch = loop_io_create(c->loop, pair[0], LOOP_READ, rank_spoke, c)};
    return pair[1];
}

void first_contact_leave_pmix(struct first_contact *c)
{
    loop_io_destroy(take_ptr(c->pmix_watch));
    cleanup_close(&c->pmix_fd);
}

void first_contact_close(struct first_contact *c)
{
    if (!c->loop)
        return;
    for (size_t i = 0; i < c->nconnections; i++)
        connection_close(&c->connections[i]);
    free(take_ptr(c->connections));
    c->nconnections = 0;
    first_contact_leave_pmix(c);
    cleanup_close(&c->simple_pmi_fd);
}
