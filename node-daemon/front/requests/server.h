/* SPDX-License-Identifier: BSD-3-Clause */
/* server.h - the sockets: connections of one request each, bounded in number and time */
#pragma once

#include "node-daemon/front/quota.h"
#include "node-daemon/front/requests/requests.h"

struct server {        /* server.c's */
    struct loop *loop; /* NULL: it is not there yet */
    struct requests *requests;
    struct start *start;
    ino_t inode, roots_inode; /* of the sockets' files; 0: it was not there */
    struct loop_io *io, *roots_io;
    struct loop_timer again; /* after running out of descriptors */
    struct loop_timer sign;  /* of life */
    double
        tell_again; /* that the sockets are gone: loop_now() of the next time; 0: they are there */
    struct loop_timer turn;         /* of the next request */
    struct connection *connections; /* the latest first */
    long n, of_users;
    struct quota quota;
    void (*drained)(void *arg); /* NULL: it goes on */
    void *arg;
};

/* Listen at the sockets in start, and show signs of life. start and requests must outlive it. */
void server_open(struct server *s, struct loop *l, struct start *start, struct requests *requests);
/* The sockets were made again: listen at the new ones. */
void server_listen(struct server *s);
/* Something about jobs is settled: answer the clients that wait for it. */
void server_settled(struct server *s);
/* The reader has worked so long for this user, and is free for the next one. */
void server_reader_took(struct server *s, uid_t uid, double seconds);
/* Accept no more, and call drained when all clients have answers, within some seconds. */
void server_drain(struct server *s, void (*drained)(void *arg), void *arg);
void server_close(struct server *s); /* zero is fine */
