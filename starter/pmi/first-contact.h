/* SPDX-License-Identifier: BSD-3-Clause */
/* first-contact.h - the sockets by which a host's ranks reach their PMI server, while it does not
 * run yet
 *
 * Most programs that mprun starts never ask for PMI, and a server costs more than they do. So the
 * starter listens in the server's place, and starts it when a rank connects or sends something. The
 * server inherits the sockets, and the rank notices nothing. */
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
    struct sockaddr_un simple_pmi; /* its address; sun_path "": neither is offered */
    size_t nconnections;
    struct first_connection *connections;
    /* private to first-contact.c */
    struct loop *loop;
    struct loop_io *pmix_watch;
    loop_fn came;
    void *arg;
};

/* Listens in the server's directory, and at 127.0.0.1, for what the step offers (enum pmi_kind).
 * Calls came(arg) when a rank wants to speak with the server, perhaps again until the sockets are
 * closed. -1 with err; call first_contact_close() then, too. */
int first_contact_open(struct first_contact *c, struct loop *loop, const char *directory,
                       unsigned pmi, loop_fn came, void *arg, struct error *err);
/* Makes a connection that a rank inherits; the caller closes it then. -1 with err. */
int first_contact_connect(struct first_contact *c, struct rank_name name, struct error *err);
/* Returns whether this rank, which has ended, has left requests for the server. */
bool first_contact_has_words(const struct first_contact *c, struct rank_name name);
/* The PMIx library listens itself: closes its socket here. */
void first_contact_leave_pmix(struct first_contact *c);
/* The server has inherited the sockets, or will not start: closes them. All zero is fine. */
void first_contact_close(struct first_contact *c);
