/* SPDX-License-Identifier: BSD-3-Clause */
/* meeting.h - how the mpruns of a job on different hosts find each other
 *
 * Each tells the holder of the job's agents where it listens, and a key. The holder tells it of
 * those that came before it, and it connects to them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "launcher/start/accept-hosts.h"
#include "wire/link/link.h"

struct meeting_events {
    /* Connects to the mprun of a step at these addresses, and proves the key. */
    void (*met)(void *arg, const char *step, const char *addresses, const uint8_t *key);
    /* Takes the link of an mprun that has connected. */
    void (*arrived)(void *arg, struct link *l);
    /* The holder has answered, or has gone. */
    void (*heard)(void *arg);
};

struct meeting { /* meeting.c alone changes it */
    struct loop *loop;
    const struct step_plan *plan;
    const struct meeting_events *events;
    void *arg;
    int holder_fd;              /* -1: there is no holder */
    struct loop_io *holder_io;  /* NULL: as well */
    bool holder_owes;           /* more steps */
    struct listeners listeners; /* for the other mpruns, */
    uint8_t key[LINK_KEY];      /* which prove this */
};

void meeting_init(struct meeting *t, struct loop *loop, const struct step_plan *plan,
                  const struct meeting_events *events, void *arg);
/* Listens, and tells the holder where, unless it knows that. Returns whether it has begun: heard()
 * follows. False, too: the job has no holder, or mpruns on other hosts cannot reach this one. */
bool meeting_begin(struct meeting *t);
void meeting_close(struct meeting *t);
