/* SPDX-License-Identifier: BSD-3-Clause */
/* records.h - records of fixed size between the processes of mprund, by sockets of SOCK_SEQPACKET
 *
 * Each begins with a struct record_head. They stay on one machine and between programs of one
 * build: other sizes, or another build, end the process that gets them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct record_head {
    uint32_t magic; /* RECORD_MAGIC: the build */
    uint32_t what;  /* of the protocol */
    uint64_t id;    /* of a question; its answer has the same */
};

/* Send n bytes, and with them the descriptor fd (-1: none). 0, or -1 with errno: EAGAIN, the socket
 * does not wait and is full; EPIPE, the other end has gone. */
int record_send(int to, const void *record, size_t n, int fd);
/* Take a record of exactly n bytes, and *ret_fd, the descriptor that came with it (-1: none), which
 * the caller closes. 1; 0: the other end has gone; or -1 with errno: EAGAIN, there is none yet;
 * EPROTO, it is no such record. */
int record_receive(int from, void *record, size_t n, int *ret_fd);
/* The constant field of a new record, which is all zero but for that. */
struct record_head record_head(uint32_t what, uint64_t id);
