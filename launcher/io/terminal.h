/* SPDX-License-Identifier: BSD-3-Clause */
/* terminal.h - mprun's own terminal while a rank has one (--pty): keys go there as they are
 * pressed, ^C and ^Z too, and what the rank's terminal prints is printed as it is */
#pragma once

#include <stdbool.h>

#include "common/tty.h"

struct terminal;

/* The size of the terminal that is mprun's standard input, else its standard output. */
struct tty_size terminal_size(void);

/* resized is called with the new size. NULL: out of memory. All functions below take NULL, for
 * steps in which no rank has a terminal. */
struct terminal *terminal_create(void (*resized)(void *arg, const struct tty_size *size),
                                 void *arg);
void terminal_destroy(struct terminal *t); /* gives it back first */

void terminal_take(struct terminal *t);      /* raw, where it is a terminal and in the foreground */
void terminal_give_back(struct terminal *t); /* as it was */
void terminal_resized(struct terminal *t);
bool terminal_is_taken(const struct terminal *t);
