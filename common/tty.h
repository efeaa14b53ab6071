/* SPDX-License-Identifier: BSD-3-Clause */
/* tty.h - terminals: may we read it, how large is it, how does it behave; and making one */
#ifndef COMMON_TTY_H
#define COMMON_TTY_H

#include <stdint.h>
#include <termios.h>

int tty_is_foreground(int fd); /* fd is our controlling terminal and we are its foreground group */
int tty_have_foreground(
    void);             /* the same of our controlling terminal, whatever descriptor it has */
int tty_width(int fd); /* columns, or 80 */

struct tty_size {
    uint32_t rows, columns; /* characters, at most 65535 */
};
struct tty_size tty_get_size(int fd); /* of no terminal: 24 rows of 80 */
void tty_set_size(int fd, const struct tty_size *size);

/* Every byte as it is typed and printed, none with a meaning of its own. -1: no terminal, or not
 * ours to change (in the background). */
int tty_make_raw(int fd, struct termios *ret_before);
void tty_restore(int fd, const struct termios *before); /* waits for nothing */

/* A new terminal: ours, which does not wait, and the end for a process that is to have it. Both
 * close-on-exec. -1 with errno. */
int tty_open_pair(const struct tty_size *size, int *ret_ours, int *ret_theirs);

#endif
