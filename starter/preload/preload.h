/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - files that are brought to this host before the ranks start, and passed on to the
 * hosts below it: preload-transfer.c gets them, preload-install.c puts them where ranks find them
 *
 * mprun offers contents by their hashes. A host answers which of them it, or any host below it,
 * does not have. These come in pieces down the tree, once over each link, and only to hosts that
 * want them. A host acknowledges a piece when it has written it and sent it to all children that
 * want it: a slow host slows the whole, and no host holds more than PRELOAD_WINDOW bytes for it.
 *
 * If a file of the step cannot be brought, the step ends. If a file of a spawned world cannot be
 * brought, the transfer goes on as if it had come, but this host starts no rank of the world. */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "common/loop.h"
#include "model/preload.h"
#include "starter/preload/cache.h"
#include "wire/messages/frame.h"
#include "wire/mprun.pb-c.h"

struct child_hosts;
struct starter_services;

struct preload_content {
    struct content what;
    char *name;                 /* of the first file that has it: for messages */
    int fd;                     /* -1: not here yet */
    struct cache_file *writing; /* NULL: it is here, or has failed */
    bool has_failed;            /* of a spawned world: here it failed, but it goes on below */
    bool is_wanted;             /* here or below */
    uint64_t come;              /* bytes received so far */
};

struct preload_below { /* a child host */
    bool has_answered;
    size_t nwanted;
    size_t ncontents;
    unsigned char *wants; /* by content */
    uint64_t credit;      /* bytes that may be sent to it */
};

struct preload_piece { /* a PRELOAD_DATA that is written here, but not yet sent to all children */
    STAILQ_ENTRY(preload_piece) next;
    size_t n;
    uint8_t payload[]; /* of the frame */
};

struct brought { /* where the files of a world are; all zero: none were brought */
    char *directories[PRELOAD_KIND_COUNT]; /* of libraries and data; NULL: none */
    uint32_t world;
    uint32_t napps;  /* of this world */
    char **programs; /* by app; NULL entries: the ranks execute the host's own file */
};

void brought_free(struct brought *b); /* what it holds */
/* Removes the files of a spawned world, below the step's directory `home`. */
void brought_remove(const struct brought *b, const char *home);

struct preload { /* the latest offer; all zero: none. Private to preload/ */
    Mprun__PreloadOffer *offer;
    const struct starter_services *services;
    struct child_hosts *children;
    struct cache *cache;
    struct preload_content *contents;
    size_t n;
    size_t looked; /* contents that were looked for in the cache so far */
    struct loop_defer look;
    struct preload_below *below;
    unsigned nbelow;
    STAILQ_HEAD(, preload_piece) pieces;
    uint64_t queued;   /* bytes in these pieces */
    bool has_answered; /* mprun was told what is wanted */
    bool is_done;      /* everything is here and on the hosts below */
    bool is_stopped;   /* given up */
    char *why_not;     /* why a spawned world's ranks cannot start here; NULL: they can */
};

static inline bool preload_is_offered(const struct preload *pre)
{
    return pre->offer != NULL;
}
/* PRELOAD_OFFER has come: looks which files are here already, and answers. An earlier offer must be
 * installed by then. -1: the message cannot be read, or comes too early. */
int preload_take_offer(struct preload *pre, const struct starter_services *services,
                       struct child_hosts *children, const uint8_t *p, size_t n);
void preload_close(struct preload *pre); /* all zero is fine, here and below */
/* PRELOAD_DATA has come. */
void preload_data(struct preload *pre, const uint8_t *p, size_t n);
/* PRELOAD_WANTED or PRELOAD_TAKEN of the child in this place has come (links/child-hosts.h). */
void preload_from_child(struct preload *pre, unsigned place, enum frame_type type, const uint8_t *p,
                        size_t n);
/* Nothing more is wanted: closes all contents, and drops those that are half written. */
void preload_stop(struct preload *pre);

/* LAUNCH of a world has come, and the step's directories are there: puts the files that were
 * offered for the world into the main one. -1 with err: its ranks cannot start here. */
int preload_install(struct preload *pre, const struct starter_services *world, struct brought *ret,
                    struct error *err);
