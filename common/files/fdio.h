/* SPDX-License-Identifier: BSD-3-Clause */
/* fdio.h - descriptors, small files, and reads and writes of a whole length */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Open /dev/null for those of descriptors 0 to 2 that are closed, so that no later descriptor gets
 * such a number. */
void fd_open_standard(void);
/* Close every descriptor from `first` on, or mark it close-on-exec. Safe after fork. -1: the kernel
 * cannot (before 5.9, and for marking before 5.11). */
int fd_close_from(unsigned first, bool mark_only);
int fd_set_nonblock(int fd, int on);
/* Open another description of what fd refers to, ours alone, which does not block. -1 with errno:
 * not to be had (another user's terminal, no /proc). */
int fd_reopen(int fd, int flags);
/* Write n bytes, waiting where the descriptor would block. 0, or -1 with errno. */
int fd_write_all(int fd, const void *p, size_t n);
/* Read exactly n bytes. 0, or -1 with errno (EPIPE at an early end). */
int fd_read_all(int fd, void *p, size_t n);

/* The directory that fd is, which this takes; NULL with errno, also where fd is -1. */
DIR *dir_take_fd(int fd);

/* Read a small file (under /proc, /sys) as a string without its last newlines: its length, or -1
 * with errno. A longer file is cut off. dir may be AT_FDCWD. */
ssize_t file_read_at(int dir, const char *path, char *buf, size_t size);
/* Read a whole file of at most max bytes, NUL-terminated; the caller frees it. ret_len may be NULL.
 * NULL with errno; EFBIG: it is longer. */
char *file_slurp_at(int dir, const char *path, size_t max, size_t *ret_len);
/* The same of an open file, from where it has been read to. */
char *fd_slurp(int fd, size_t max, size_t *ret_len);
/* Write text into an existing file by one system call. 0, or -1 with errno. */
int file_write_at(int dir, const char *path, const char *text);
