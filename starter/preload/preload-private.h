/* SPDX-License-Identifier: BSD-3-Clause */
/* preload-private.h - the struct behind preload.h: preload-transfer.c gets the files,
 * preload-install.c puts them where ranks find them */
#pragma once

#include <stdbool.h>

#include "common/loop.h"
#include "model/preload.h"
#include "starter/preload/cache.h"
#include "starter/preload/preload.h"
#include "wire/mprun.pb-c.h"

struct preload_content {
    struct content what;
    char *name;                 /* of the first file that has it: for messages */
    int fd;                     /* -1: not here yet */
    struct cache_file *writing; /* NULL: it is here, or has failed */
    bool is_wanted;             /* here or below */
    uint64_t come;              /* bytes that have come */
};

struct preload_below { /* a child host */
    bool has_answered;
    size_t nwanted;
    unsigned char *wants; /* by content; NULL before the answer */
    uint64_t credit;      /* bytes that may be sent to it */
};

struct preload_piece { /* a PRELOAD_DATA that is written here, and not passed on to all */
    struct preload_piece *next;
    size_t n;
    uint8_t payload[]; /* of the frame */
};

struct preload {
    const struct starter_services *services;
    struct child_hosts *children;
    Mprun__PreloadOffer *offer;
    struct cache *cache;
    struct preload_content *contents;
    size_t n;
    size_t looked; /* number of contents that were looked for in the cache */
    struct loop_defer look;
    struct preload_below *below;
    unsigned nbelow;
    struct preload_piece *first, **last;
    uint64_t queued; /* bytes in these pieces */
    bool has_answered, is_done,
        is_stopped; /* told what is wanted; all is here and below; given up */
    /* preload-install.c */
    char **programs; /* by app; NULL entries */
    uint32_t napps;
    char *directories[PRELOAD_KIND_COUNT]; /* NULL: none */
};

/* Close all contents, and drop those that are half written. */
void preload_close_files(struct preload *pre);
