/* SPDX-License-Identifier: BSD-3-Clause */
/* preload-private.h - between preload.c, which gets the files, and preload-place.c */
#ifndef STARTER_PRELOAD_PRIVATE_H
#define STARTER_PRELOAD_PRIVATE_H

#include "common/loop.h"
#include "model/preload.h"
#include "starter/cache.h"
#include "starter/preload.h"
#include "wire/mprun.pb-c.h"

struct preload_content {
    struct content what;
    char *name;                 /* of the first file that has it: for messages */
    int fd;                     /* -1: not here yet */
    struct cache_file *writing; /* NULL: it is here, or has failed */
    int wanted;                 /* here or below */
    uint64_t come;              /* bytes */
};

struct preload_below {
    int answered;
    size_t nwanted;
    unsigned char *wants; /* by content; NULL before the answer */
    uint64_t credit;
};

struct preload_piece {
    struct preload_piece *next;
    size_t n;
    uint8_t payload[]; /* of the frame */
};

struct preload {
    struct worker *worker;
    Mprun__PreloadOffer *offer;
    struct cache *cache;
    struct preload_content *contents;
    size_t n;
    size_t looked; /* so many were looked for in the cache */
    struct loop_defer *look;
    struct preload_below *below;
    unsigned nbelow;
    struct preload_piece *first, **last; /* written here, not passed on to all */
    uint64_t queued;
    int answered, done, stopped;
    /* preload-place.c */
    char **programs; /* by app; NULL entries */
    uint32_t napps;
    char *directories[PRELOAD_KIND_COUNT]; /* NULL: none */
};

void preload_close_files(struct preload *pre);

#endif
