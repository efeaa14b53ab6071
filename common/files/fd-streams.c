/* SPDX-License-Identifier: BSD-3-Clause */
/* fd-streams.c - of fdio.h, what root's processes have no use for */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "common/files/fdio.h"
#include "common/error.h"

int fd_set_nonblock(int fd, int on)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -1;
    int want = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    return want == flags ? 0 : fcntl(fd, F_SETFL, want);
}

int fd_read_all(int fd, void *p, size_t n)
{
    char *at = p;
    while (n > 0) {
        ssize_t k = read(fd, at, n);
        if (k > 0) {
            at += k;
            n -= (size_t)k;
        } else if (k == 0) {
            return error_number(EPIPE);
        } else if (errno == EAGAIN) {
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}
