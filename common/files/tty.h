/* SPDX-License-Identifier: BSD-3-Clause */
/* tty.h - terminals: whether this process may read one, its size, its mode; and making one */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

/* fd is this process's controlling terminal, and its group is in the foreground there. */
bool tty_is_foreground(int fd);
/* The same for the controlling terminal, whatever descriptor it has. */
bool tty_has_foreground(void);

struct tty_size {
    uint32_t rows, columns; /* characters, at most 65535 */
};
struct tty_size tty_get_size(int fd); /* 24 rows, 80 columns where it is not known */
void tty_set_size(int fd, const struct tty_size *size);

/* Pass every byte on as it is typed or printed, none with a meaning of its own. -1: no terminal, or
 * this process is in its background and may not change it. */
int tty_make_raw(int fd, struct termios *ret_before);
void tty_restore(int fd, const struct termios *before); /* does not wait for output to drain */

/* Make a terminal: *ret_ours, non-blocking, for this process, and *ret_theirs for the process that
 * is to have it. Both are close-on-exec. 0, or -1 with errno. */
int tty_open_pair(const struct tty_size *size, int *ret_ours, int *ret_theirs);
