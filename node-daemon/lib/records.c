/* SPDX-License-Identifier: BSD-3-Clause */
/* records.c - records of fixed size, and the descriptors that go with them */
#include "node-daemon/lib/records.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Changes with each change of a protocol between the processes. */
static const uint32_t RECORD_MAGIC = 0x4d505202;

struct record_head record_head(uint32_t what, uint64_t id)
{
    return (struct record_head){.magic = RECORD_MAGIC, .what = what, .id = id};
}

union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

int record_send(int to, const void *record, size_t n, int fd)
{
    union control control = {.bytes = {0}};
    struct iovec data = {.iov_base = (void *)record, .iov_len = n};
    struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(fd))};
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    ssize_t sent;
    do
        sent = sendmsg(to, &m, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

static int descriptor_in(struct msghdr *m)
{
    int fd = -1;
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

int record_receive(int from, void *record, size_t n, int *ret_fd)
{
    union control control = {.bytes = {0}};
    struct record_head head;
    struct iovec data = {.iov_base = record, .iov_len = n};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen =
                           CMSG_LEN(sizeof(int))}; /* one: CMSG_SPACE has room for two */
    ssize_t got;
    *ret_fd = -1;
    do
        got = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return got < 0 && errno != ECONNRESET ? -1 : 0;
    *ret_fd = descriptor_in(&m);
    memcpy(&head, record, sizeof(head));
    if ((size_t)got == n && !(m.msg_flags & MSG_TRUNC) && head.magic == RECORD_MAGIC)
        return 1;
    if (*ret_fd >= 0)
        close(*ret_fd);
    *ret_fd = -1;
    errno = EPROTO;
    return -1;
}
