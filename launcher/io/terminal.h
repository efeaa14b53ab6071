/* SPDX-License-Identifier: BSD-3-Clause */
/* terminal.h - mprun's own terminal with --pty: in raw mode mprun passes each key to the rank's
 * terminal, ^C and ^Z too, and prints that terminal's output unchanged */
#pragma once

#include <stdbool.h>
#include <termios.h>

#include "common/files/tty.h"

/* Zero: no rank has a terminal, and the functions below do nothing. */
struct terminal {
    bool taken;
    struct termios before; /* while it is taken */
    void (*resized)(void *arg, const struct tty_size *size);
    void *arg;
};

/* The size of the terminal that is mprun's standard input, else its standard output. */
struct tty_size terminal_size(void);

/* A rank has a terminal. resized is called with the new size. */
void terminal_init(struct terminal *t, void (*resized)(void *arg, const struct tty_size *size),
                   void *arg);
void terminal_take(struct terminal *t);      /* raw mode, if stdin is a terminal */
void terminal_give_back(struct terminal *t); /* as it was */
void terminal_resized(struct terminal *t);
