/* SPDX-License-Identifier: BSD-3-Clause */
/* tty.h - is it a terminal, and are we the ones who may read it? */
#ifndef COMMON_TTY_H
#define COMMON_TTY_H

int tty_is_foreground(int fd); /* fd is our controlling terminal and we are its foreground group */
int tty_have_foreground(
    void);             /* the same of our controlling terminal, whatever our descriptors are */
int tty_width(int fd); /* columns, or 80 */

#endif
