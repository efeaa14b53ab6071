/* SPDX-License-Identifier: BSD-3-Clause */
/* first-contact.h - the sockets by which a host's ranks reach their PMI server, while it does not
 * run yet
 *
 * Most programs that mprun starts never ask for PMI, and a server costs more than they do. So the
 * starter listens in its place, and starts it when a rank connects or says something. The server
 * inherits the sockets, and a rank does not notice. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/un.h>

#include "common/loop.h"
#include "model/rank-name.h"

struct first_connection { /* of a rank, for PMI-1 and PMI-2 */
    struct rank_name name;
    int fd; /* the server's end */
    struct loop_io *watch;
};

struct first_contact { /* others only read the first part */
    int pmix_fd;       /* listens for the PMIx library; -1: not open, or PMIx is not offered */
    in_port_t pmix_port;
    int simple_pmi_fd; /* listens for PMI-1 and PMI-2; -1: not open, or neither is offered */
    struct sockaddr_un simple_pmi; /* where; sun_path "": neither is offered */
    size_t nconnections;
    struct first_connection *connections;
    /* private to first-contact.c */
    struct loop *loop;
    struct loop_io *pmix_watch;
    loop_fn came;
    void *arg;
};

/* Listen in the server's directory, and at 127.0.0.1, for what the step offers (enum pmi_kind).
 * came(arg): a rank wants to speak with the server; it may be called again until the sockets are
 * closed. -1 with err; first_contact_close() is due then, too. */
int first_contact_open(struct first_contact *c, struct loop *loop, const char *directory,
                       unsigned pmi, loop_fn came, void *arg, struct error *err);
/* A connection that a rank inherits, and the caller closes then. -1 with err. */
int first_contact_connect(struct first_contact *c, struct rank_name name, struct error *err);
/* The rank, which has ended, has left words for the server. */
bool first_contact_has_words(const struct first_contact *c, struct rank_name name);
/* The PMIx library listens for itself: close its socket. */
void first_contact_leave_pmix(struct first_contact *c);
/* The server has inherited the sockets, or none will be started. As zero, or closed: fine. */
void first_contact_close(struct first_contact *c);
