/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn-request.h - makes a SPAWN of the fields with which ranks ask for worlds in PMI-1 and PMI-2
 *
 * Both protocols name the same things in the same order, with other words: the number of ranks, the
 * program, its arguments, info keys, and pairs that the new ranks are to find. */
#pragma once

#include <stdbool.h>

#include "common/buffer.h"
#include "wire/mprun.pb-c.h"

struct spawn_request {
    Mprun__Spawn *message; /* all of it malloc'ed, as if unpacked; without id and parent */
    struct buffer preput;  /* packed pairs */
    char *key;             /* of a pair whose value comes next; NULL: none */
    size_t size;           /* bytes of all programs, names and values so far */
};

struct spawn_request *spawn_request_create(void);
void spawn_request_destroy(struct spawn_request *r); /* NULL is fine */
/* The fields of a further program follow. One too many makes the request invalid. */
void spawn_request_begin_program(struct spawn_request *r);
/* Takes a field; ignores a field without a meaning here. -1: it is not valid, there is no program
 * yet, or all fields together have too many bytes. */
int spawn_request_take(struct spawn_request *r, const char *name, const char *value);
/* All fields are there: returns the message, which r keeps. NULL: a program has no ranks or no
 * name, or there are too many bytes. */
Mprun__Spawn *spawn_request_finish(struct spawn_request *r);
