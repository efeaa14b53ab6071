/* SPDX-License-Identifier: BSD-3-Clause */
/* mover-link.c - asking the mover */
#include "node-daemon/lib/mover-link.h"

#include <errno.h>

#include "common/cleanup.h"

static const double NEXT_MOVER_S = 2;

/* 1: answered; 0: the link is broken. */
static int ask_once(const struct start *s, const struct mover_request *q, int fd,
                    struct mover_answer *ret)
{
    AUTO_CLOSE int none = -1;
    int link = s->link[ROLE_MOVER];
    if (link < 0 || record_send(link, q, sizeof(*q), fd) < 0)
        return 0;
    return record_receive(link, ret, sizeof(*ret), &none) == 1 && ret->head.id == q->head.id;
}

int mover_ask(struct start *s, struct mover_request *q, enum mover_op what, int fd,
              struct mover_answer *ret, struct error *err)
{
    static uint64_t id;
    q->head = record_head(what, ++id);
    int answered = ask_once(s, q, fd, ret);
    if (!answered && start_await_link(s, ROLE_MOVER, NEXT_MOVER_S) == 0)
        answered = ask_once(s, q, fd, ret);
    if (!answered)
        return error_set(err, EPIPE, "the part of mprund that moves processes has gone");
    return ret->head.what == 0 ? 0 : error_set(err, (int)ret->head.what, "%.900s", ret->text);
}
