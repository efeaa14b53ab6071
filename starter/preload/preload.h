/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - files that are brought to this host before the ranks start, and passed on to the
 * hosts below it: preload-transfer.c gets them, preload-install.c puts them where ranks find them
 *
 * mprun offers contents by their hashes. A host answers which of them it, or any host below it,
 * does not have; these come in pieces down the tree, once over each link, and only where somebody
 * wants them. A piece is acknowledged when it is written here and on its way to all children that
 * want it: a slow host slows the whole, and no host holds more than PRELOAD_WINDOW bytes for it.
 *
 * Where a file of the step cannot be brought, the step ends. With one of a spawned world all goes
 * on as if it had come, and the world's ranks of this host are then not started. */
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
    bool has_failed;            /* and a rank has asked for it: it still goes on to hosts below */
    bool is_wanted;             /* here or below */
    uint64_t come;              /* bytes that have come */
};

struct preload_below { /* a child host */
    bool has_answered;
    size_t nwanted;
    size_t ncontents;
    unsigned char *wants; /* by content */
    uint64_t credit;      /* bytes that may be sent to it */
};

struct preload_piece { /* a PRELOAD_DATA that is written here, and not passed on to all */
    STAILQ_ENTRY(preload_piece) next;
    size_t n;
    uint8_t payload[]; /* of the frame */
};

struct brought { /* where the files of a world are; all zero: none were brought */
    char *directories[PRELOAD_KIND_COUNT]; /* of libraries and data; NULL: none */
    uint32_t world;
    uint32_t napps;  /* of this world */
    char **programs; /* by app; NULL entries: the ranks execute what the host has */
};

void brought_free(struct brought *b); /* what it holds */
/* Removes the files of a world that a rank has started, below the step's directory. */
void brought_remove(const struct brought *b, const char *home);

struct preload { /* the offer that has come last; all zero: none. Private to the room */
    Mprun__PreloadOffer *offer;
    const struct starter_services *services;
    struct child_hosts *children;
    struct cache *cache;
    struct preload_content *contents;
    size_t n;
    size_t looked; /* number of contents that were looked for in the cache */
    struct loop_defer look;
    struct preload_below *below;
    unsigned nbelow;
    STAILQ_HEAD(, preload_piece) pieces;
    uint64_t queued;   /* bytes in these pieces */
    bool has_answered; /* mprun was told what is wanted */
    bool is_done;      /* all is here and below */
    bool is_stopped;   /* given up */
    char *why_not;     /* ranks that a rank has asked for cannot start here; NULL: they can */
};

/* PRELOAD_OFFER has come: look which files are here already, and answer. The files of an earlier
 * one are installed. -1: it cannot be read, or comes before that. */
int preload_take_offer(struct preload *pre, const struct starter_services *services,
                       struct child_hosts *children, const uint8_t *p, size_t n);
void preload_close(struct preload *pre); /* all zero is fine, here and below */
/* PRELOAD_DATA has come. */
void preload_data(struct preload *pre, const uint8_t *p, size_t n);
/* PRELOAD_WANTED or PRELOAD_TAKEN of the child in this place has come (links/child-hosts.h). */
void preload_from_child(struct preload *pre, unsigned place, enum frame_type type, const uint8_t *p,
                        size_t n);
/* Nothing more is wanted: close all contents, and drop those that are half written. */
void preload_stop(struct preload *pre);

/* LAUNCH of a world has come, and the step's directories are there: put the files that were offered
 * for it into the main one. -1 with err: its ranks cannot start here. */
int preload_install(struct preload *pre, const struct starter_services *world, struct brought *ret,
                    struct error *err);
