/* SPDX-License-Identifier: BSD-3-Clause */
/* fdio.h - small files and whole writes */
#ifndef COMMON_FDIO_H
#define COMMON_FDIO_H

#include <stddef.h>
#include <sys/types.h>

/* Descriptors 0 to 2 exist from here on (/dev/null for those that were closed), so that no later
 * one can be taken for them. */
void fd_open_standard(void);
int fd_set_nonblock(int fd, int on);
int fd_set_cloexec(int fd, int on);
/* All of it, waiting where the descriptor would block. 0, or -1 with errno. */
int fd_write_all(int fd, const void *p, size_t n);
/* Exactly n bytes. 0, or -1 with errno (EPIPE at an early end). */
int fd_read_all(int fd, void *p, size_t n);

/* A small file (under /proc, /sys) as a string without its last newline: its length, or -1.
 * What does not fit is cut off. dir may be AT_FDCWD. */
ssize_t file_read_at(int dir, const char *path, char *buf, size_t size);
/* A whole file, NUL-terminated, of at most max bytes; caller frees. NULL with errno (EFBIG). */
char *file_slurp_at(int dir, const char *path, size_t max, size_t *ret_len);
/* One write of text into an existing file. 0, or -1 with errno. */
int file_write_at(int dir, const char *path, const char *text);

#endif
