/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/start-channel/holder-socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fd-packet.h"
#include "common/text/number.h"
#include "config.h"
#include "wire/little-endian.h"
#include "wire/transport/address.h"

enum { BACKLOG = 1000 };
_Static_assert(HOLDER_HEAD == offsetof(struct holder_message, data), "");
#define NAME "mprun-agents-%u-%s"

/* ---- names ----------------------------------------------------------------------------------- */

void holder_name_job(const char *manager, const char *number, uint64_t cluster,
                     char ret[HOLDER_JOB_MAX])
{
    snprintf(ret, HOLDER_JOB_MAX, PACKAGE_VERSION "-%s-%s-%" PRIx64, manager, number, cluster);
}

const char *holder_job_number(const char *job, char ret[HOLDER_JOB_MAX])
{
    const size_t begin = strlen(PACKAGE_VERSION "-");
    if (strncmp(job, PACKAGE_VERSION "-", begin) != 0)
        return NULL;
    snprintf(ret, HOLDER_JOB_MAX, "%s", job + begin);
    char *cluster = strrchr(ret, '-'), *number;
    if (cluster)
        *cluster = 0;
    number = strchr(ret, '-');
    return number ? number + 1 : NULL;
}

/* ---- the socket ------------------------------------------------------------------------------ */

/* Returns the bytes of the address: an abstract name begins with a 0 and has no end. */
static socklen_t name_of(const char *job, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, NAME, (unsigned)geteuid(), job);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int make_socket(const char *job, int flags, struct sockaddr_un *name, socklen_t *ret_size,
                       struct error *err)
{
    *ret_size = name_of(job, name);
    if (*ret_size > sizeof(*name))
        return error_set(err, ENAMETOOLONG, "the job's name '%.40s...' is too long", job);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
    return fd < 0 ? error_errno(err, errno, "make a socket") : fd;
}

uint64_t holder_host_hash(const char *name)
{
    return hash_bytes(name, strlen(name) + 1);
}

int holder_listen(const char *job, struct error *err)
{
    struct sockaddr_un name;
    socklen_t n;
    AUTO_CLOSE int fd = make_socket(job, SOCK_NONBLOCK, &name, &n, err);
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&name, n) < 0 || listen(fd, BACKLOG) < 0)
        return error_errno(err, errno, "listen for the job's next steps");
    return take_fd(&fd);
}

bool holder_listens_for(int fd, char ret[HOLDER_JOB_MAX])
{
    struct sockaddr_un name;
    socklen_t n = sizeof(name);
    char prefix[40];
    int begin = snprintf(prefix, sizeof(prefix), NAME, (unsigned)geteuid(), "");
    if (getsockname(fd, (struct sockaddr *)&name, &n) < 0 || n > sizeof(name) ||
        n <= offsetof(struct sockaddr_un, sun_path) + 1)
        return false;
    int length = (int)(n - offsetof(struct sockaddr_un, sun_path) - 1);
    if (length <= begin || memcmp(name.sun_path + 1, prefix, (size_t)begin) != 0)
        return false;
    snprintf(ret, HOLDER_JOB_MAX, "%.*s", length - begin, name.sun_path + 1 + begin);
    return true;
}

int holder_connect(const char *job, struct error *err)
{
    struct sockaddr_un name;
    socklen_t n;
    AUTO_CLOSE int fd = make_socket(job, 0, &name, &n, err);
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&name, n) < 0)
        return error_errno(err, errno, "connect to the holder of the job's agents");
    if (!address_is_peer_of(fd, geteuid()))
        return error_set(err, EPERM, "the holder of the job's agents is another user's");
    return take_fd(&fd);
}

/* A line of /proc/net/unix ends with the socket's name (proc(5)); an abstract name begins with '@'.
 * The listener's connections have the same name, but not its flag. */
int holder_each(void (*fn)(void *arg, const char *job), void *arg, struct error *err)
{
    enum { ACCEPTS_CONNECTIONS = 0x10000 };
    char prefix[40], line[256];
    unsigned flags;
    snprintf(prefix, sizeof(prefix), " @" NAME, (unsigned)geteuid(), "");
    AUTO_FILE FILE *f = fopen("/proc/net/unix", "re");
    if (!f)
        return error_errno(err, errno, "read /proc/net/unix");
    while (fgets(line, sizeof(line), f)) {
        char *name = strstr(line, prefix);
        line[strcspn(line, "\n")] = 0;
        if (name && sscanf(line, "%*s %*x %*x %x", &flags) == 1 && (flags & ACCEPTS_CONNECTIONS))
            fn(arg, name + strlen(prefix));
    }
    return 0;
}

pid_t holder_pid(int fd)
{
    struct ucred u;
    socklen_t len = sizeof(u);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == 0 ? u.pid : 0;
}

int holder_accept(int fd)
{
    AUTO_CLOSE int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer < 0 || address_is_peer_of(peer, geteuid()))
        return take_fd(&peer);
    return error_number(EPERM);
}

size_t holder_message_pack(const struct holder_message *m, uint8_t ret[HOLDER_PACKED_MAX])
{
    put32(ret, m->what);
    put32(ret + 4, m->host);
    put32(ret + 8, (uint32_t)m->value);
    put32(ret + 12, m->size);
    memcpy(ret + HOLDER_HEAD, m->data, m->size);
    return HOLDER_HEAD + m->size;
}

int holder_message_unpack(const uint8_t *p, size_t n, struct holder_message *ret)
{
    if (n < HOLDER_HEAD)
        return 0;
    ret->what = get32(p);
    ret->host = get32(p + 4);
    ret->value = (int32_t)get32(p + 8);
    ret->size = get32(p + 12);
    if (ret->size > HOLDER_DATA_MAX)
        return -1;
    if (n < HOLDER_HEAD + ret->size)
        return 0;
    memcpy(ret->data, p + HOLDER_HEAD, ret->size);
    return (int)(HOLDER_HEAD + ret->size);
}

int holder_send(int fd, const struct holder_message *m, const int fds[HOLDER_FDS])
{
    size_t count = 0;
    while (fds && count < HOLDER_FDS && fds[count] >= 0)
        count++;
    return fd_packet_send(fd, m, HOLDER_HEAD + m->size, fds, count);
}

int holder_receive(int fd, struct holder_message *ret, int ret_fds[HOLDER_FDS])
{
    int unwanted[HOLDER_FDS];
    ssize_t n = fd_packet_receive(fd, ret, sizeof(*ret), ret_fds ? ret_fds : unwanted);
    if (n < 0)
        return errno == EAGAIN ? -1 : 0;
    for (int i = 0; !ret_fds && i < HOLDER_FDS; i++)
        cleanup_close(&unwanted[i]);
    return n >= HOLDER_HEAD && (size_t)n == HOLDER_HEAD + ret->size;
}
