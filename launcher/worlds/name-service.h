/* SPDX-License-Identifier: BSD-3-Clause */
/* name-service.h - the names that ranks of a step publish, and the lookups that wait for some
 *
 * mprun keeps them, so that ranks of all hosts find the same names. It asks the job's other steps
 * for names that it does not have. A rank that has published has its answer once the other steps
 * ask here: what it then tells a rank of theirs to look up is found. */
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

/* The other steps of the job; job-names.h. */
struct name_steps {
    /* Ranks of this step use names: the lookups of other steps are to come here. False: it is not
     * known yet which these are; name_service_steps_known() is called when it is. */
    bool (*join)(void *arg);
    /* Asks the other steps; `number` identifies their answers. Returns how many steps will
     * answer. */
    size_t (*ask)(void *arg, uint64_t number, const Mprun__NameRequest *m);
    void (*forget)(void *arg, uint64_t number);
    /* Answers a step that has asked. */
    name_reply_f reply;
    /* The namespace of a world, for steps that ask. */
    const char *(*nspace)(void *arg, uint32_t world);
};

struct worlds;

struct name_service { /* private to name-service.c */
    struct loop *loop;
    const struct worlds *worlds;
    name_reply_f reply;
    const struct name_steps *steps; /* NULL: there are none */
    void *steps_arg;
    uint64_t last_number;          /* of a lookup that others were asked for */
    TAILQ_HEAD(, published) names; /* in the order of publishing */
    TAILQ_HEAD(, lookup) waiting;  /* first come, first read */
    size_t bytes;                  /* of all names and waiting lookups */
};

void name_service_init(struct name_service *s, struct loop *loop, const struct worlds *worlds,
                       name_reply_f reply);
void name_service_free(struct name_service *s);

/* NAME_REQUEST of a rank of this host, which is any pointer. -1: an invalid message. */
int name_service_request(struct name_service *s, void *from, const Mprun__NameRequest *m);
/* From now on asks the other steps, too. */
void name_service_set_steps(struct name_service *s, const struct name_steps *steps, void *arg);
/* All other steps that have joined are known, and ask here. */
void name_service_steps_known(struct name_service *s);
/* NAME_REQUEST of another step: NAME_LOOKUP and NAME_FORGET. -1: a message that cannot be. */
int name_service_step_request(struct name_service *s, void *from, const Mprun__NameRequest *m);
/* A step has answered the lookup with this number; NULL: it never will. was_asked: by ask(), and
 * this is its first answer. */
void name_service_step_reply(struct name_service *s, uint64_t number, const Mprun__NameReply *m,
                             bool was_asked);
/* The step is gone: its lookups are dropped. */
void name_service_step_gone(struct name_service *s, const void *from);
/* Calls fn for the lookups that wait here and that a step which has come now may answer. */
void name_service_tell_waiting(const struct name_service *s,
                               void (*fn)(void *arg, uint64_t number, const Mprun__NameRequest *m),
                               void *arg);

/* The rank has ended: its lookups are dropped, and names that go with it. */
void name_service_rank_ended(struct name_service *s, struct rank_name rank);
/* The same for names that go with a world; lookups at ports of its ranks find nothing any more. */
void name_service_world_ended(struct name_service *s, uint32_t world);
