/* SPDX-License-Identifier: BSD-3-Clause */
/* name-service.h - the names that ranks of a step publish, and the lookups that wait for some
 *
 * mprun keeps them, so that every host's ranks find the same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "model/rank-name.h"
#include "wire/mprun.pb-c.h"

struct loop;

/* Sends NAME_REPLY to this host, if it can still be reached. */
typedef void (*name_reply_f)(void *host, const Mprun__NameReply *m);

struct name_service { /* private to name-service.c */
    struct loop *loop;
    name_reply_f reply;
    TAILQ_HEAD(, published) names; /* in the order of publishing */
    TAILQ_HEAD(, lookup) waiting;  /* first come, first read */
    size_t bytes;                  /* of all names and waiting lookups */
};

void name_service_init(struct name_service *s, struct loop *loop, name_reply_f reply);
void name_service_free(struct name_service *s);

/* NAME_REQUEST of a rank of this host, which is any pointer. -1: a message that cannot be. */
int name_service_request(struct name_service *s, void *from, const Mprun__NameRequest *m);
/* The rank has ended: its lookups are dropped, and names that go with it. */
void name_service_rank_ended(struct name_service *s, struct rank_name rank);
/* The same for names that go with a world. */
void name_service_world_ended(struct name_service *s, uint32_t world);
