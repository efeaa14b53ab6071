/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - the numbers in NAME_REQUEST and NAME_REPLY */
#pragma once

/* A name of this prefix and a world's namespace; no rank can publish such a name by PMIx. */
#define NAME_OF_WORLD "pmix.world/"

enum name_request {
    NAME_PUBLISH = 1,
    NAME_LOOKUP,
    NAME_UNPUBLISH,
    /* only between mpruns of a job: */
    NAME_JOIN,   /* the sender's ranks use names: ask the sender, too */
    NAME_FORGET, /* forget a lookup, by its id */
};

/* Which ranks find a name: */
enum name_range {
    NAME_RANGE_STEP, /* those of the step, and of the job's other steps that run at the same time */
    NAME_RANGE_WORLD, /* those of its owner's world */
    NAME_RANGE_HOST,  /* those of its owner's host */
    NAME_RANGE_RANK,  /* its owner alone */
    NAME_RANGE_COUNT,
};

/* How long a name lives: */
enum name_life {
    NAME_LIFE_STEP,  /* as long as the step */
    NAME_LIFE_WORLD, /* as long as its owner's world */
    NAME_LIFE_RANK,  /* as long as its owner */
    NAME_LIFE_READ,  /* until the first rank finds it */
    NAME_LIFE_COUNT,
};

enum name_status {
    NAME_OK,
    NAME_PARTIAL,   /* lookup: some were found */
    NAME_NOT_FOUND, /* lookup: none was found */
    NAME_TIMEOUT,   /* lookup: fewer than wanted were found in the given time */
    NAME_DUPLICATE, /* publish: the rank sees this name already; nothing was published */
    NAME_TOO_MUCH,  /* the step has too many names, or too many bytes in them */
};
