/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/files/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { READ_AT_ONCE = 4096 };

void fd_open_standard(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd < 3);
    if (fd >= 0)
        close(fd);
}

int fd_close_from(unsigned first, bool mark_only)
{
    return (int)syscall(SYS_close_range, first, ~0U, mark_only ? 4U /* CLOSE_RANGE_CLOEXEC */ : 0U);
}

int fd_reopen(int fd, int flags)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int fd_write_all(int fd, const void *p, size_t n)
{
    const char *at = p;
    while (n > 0) {
        ssize_t k = write(fd, at, n);
        if (k > 0) {
            at += k;
            n -= (size_t)k;
        } else if (errno == EAGAIN) {
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

DIR *dir_take_fd(int fd)
{
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        cleanup_close(&fd);
    return d;
}

ssize_t file_read_at(int dir, const char *path, char *buf, size_t size)
{
    AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t len = 0;
    while (len + 1 < size) {
        ssize_t n = read(fd, buf + len, size - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    while (len > 0 && buf[len - 1] == '\n')
        len--;
    buf[len] = 0;
    return (ssize_t)len;
}

char *file_slurp_at(int dir, const char *path, size_t max, size_t *ret_len)
{
    AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? NULL : fd_slurp(fd, max, ret_len);
}

char *fd_slurp(int fd, size_t max, size_t *ret_len)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0, cap = 0;
    for (ssize_t n = 1; n != 0; len += n > 0 ? (size_t)n : 0) {
        if (cap - len <= READ_AT_ONCE) {
            cap = 2 * cap + READ_AT_ONCE + 1;
            char *grown = realloc(text, cap);
            if (!grown)
                return NULL;
            text = grown;
        }
        n = read(fd, text + len, READ_AT_ONCE);
        if (n < 0 && errno != EINTR)
            return NULL;
        if (len > max) {
            errno = EFBIG;
            return NULL;
        }
    }
    text[len] = 0;
    if (ret_len)
        *ret_len = len;
    return take_ptr(text);
}

int file_write_at(int dir, const char *path, const char *text)
{
    /* O_NONBLOCK: from Linux 6.16 on who lowers memory.max does not free the memory itself, which
     * can take minutes; who next wants some does (admin-guide/cgroup-v2.rst) */
    AUTO_CLOSE int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    size_t len = strlen(text);
    ssize_t n;
    do
        n = write(fd, text, len);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -1 : 0;
}
