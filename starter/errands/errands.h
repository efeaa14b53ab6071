/* SPDX-License-Identifier: BSD-3-Clause */
/* errands.h - programs that mprun has this host start beside its ranks (ERRAND in wire/mprun.proto)
 *
 * The keeper is their parent (errand-processes.h). As long as the worker lives,
 * it gives them their input, and tells mprun what they say and how they end. */
#pragma once

#include <stdbool.h>

#include "wire/mprun.pb-c.h"

struct starter_services;

struct errands { /* private to errands.c */
    const struct starter_services *services;
    struct errand *first;
    bool has_no_parent; /* the keeper has gone */
};

void errands_close(struct errands *all); /* all zero is fine */
/* ERRAND has come: starts the errand; wipes m's input. -1: the message is not valid. */
int errands_take(struct errands *all, Mprun__Errand *m);
/* The keeper's descriptor is readable: takes its answers. false: the keeper has gone. */
bool errands_keeper_readable(struct errands *all);
