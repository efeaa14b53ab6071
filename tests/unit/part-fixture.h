/* SPDX-License-Identifier: BSD-3-Clause */
/* part-fixture.h - the supervisor's side of mprund's unprivileged processes, as an ordinary user
 *
 * The test plays the supervisor, and front: it starts a real program, gives it its gifts and asks
 * it. */
#pragma once

#include <sys/types.h>

#include "node-daemon/lib/start.h"

/* The test is no root from here on, and has a supplementary group: PART_GROUP where it was root.
 * For a group's set-up. */
int part_be_ordinary(void **state);
enum { PART_GROUP = 20123 };

struct part {
    pid_t pid;
    int control; /* the supervisor's end */
    int link;    /* front's end */
};

/* Start build/node-daemon/NAME, linked with front, without gifts so far. */
void part_start(const char *name, struct part *ret);
/* A gift of the test's, which is closed here. */
void part_give(const struct part *p, enum gift gift, unsigned which, int fd);
/* The gifts of the start are complete. */
void part_give_all(const struct part *p);
/* The same, and wait until the process says that it serves. */
void part_is_ready(const struct part *p);
/* A file with this text and mode that has no name. */
int part_text(const char *text, mode_t mode);
/* A new link to the process, as the supervisor makes one: front's end. */
int part_link_again(const struct part *p);
/* Wait until it has ended: its code of exit. Both ends are closed. */
int part_wait(struct part *p);
/* End it, as by the supervisor's end: it has to end well. */
void part_end(struct part *p);
/* May the test, as the same user, look into the process? */
bool part_can_be_looked_into(const struct part *p);

/* This process is a part itself, front: START_CONTROL is its control. The supervisor's end. */
int part_become_front(struct start *ret);
