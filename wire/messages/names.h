/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - the numbers in NAME_REQUEST and NAME_REPLY */
#pragma once

/* The namespace of a world follows: a rank cannot publish such a name by PMIx. */
#define NAME_OF_WORLD "pmix.world/"

enum name_request {
    NAME_PUBLISH = 1,
    NAME_LOOKUP,
    NAME_UNPUBLISH,
    /* between mpruns of a job only: */
    NAME_JOIN,   /* the sender's ranks use names: it is asked, too */
    NAME_FORGET, /* a lookup, by its id */
};

/* The ranks that find a name: those of ... */
enum name_range {
    NAME_RANGE_STEP,  /* the step, and others of the job that run beside it */
    NAME_RANGE_WORLD, /* its owner's world */
    NAME_RANGE_HOST,  /* its owner's host */
    NAME_RANGE_RANK,  /* its owner alone */
    NAME_RANGE_COUNT,
};

/* A name goes with ... */
enum name_life {
    NAME_LIFE_STEP,  /* the step */
    NAME_LIFE_WORLD, /* its owner's world */
    NAME_LIFE_RANK,  /* its owner */
    NAME_LIFE_READ,  /* the first rank that finds it */
    NAME_LIFE_COUNT,
};

enum name_status {
    NAME_OK,
    NAME_PARTIAL,   /* lookup: not all */
    NAME_NOT_FOUND, /* lookup: none */
    NAME_TIMEOUT,   /* lookup: not as many as are wanted, in the time given */
    NAME_DUPLICATE, /* publish: the rank sees this name already; nothing was published */
    NAME_TOO_MUCH,  /* the step has too many names, or too much in them */
};
