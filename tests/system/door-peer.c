/* SPDX-License-Identifier: BSD-3-Clause */
/* door-peer.c - who knocks at the doors of a running step: strangers at the starters' door, tools
 * and others at the control socket. For door.bats.
 *
 *     port PID                 the ports on which the process listens, as addresses
 *     wrong-key ADDRESS HOST   claims to be a host without the key: prints how it ended
 *     garbage ADDRESS          writes nonsense until it is thrown out
 *     silent ADDRESS N [FILE]  N connections that say nothing, until all are closed: prints the
 *                              seconds that took. FILE: made when all are connected
 *     status SOCKET            STATUS_REQUEST: prints the answer
 *     deaf SOCKET              STATUS_REQUEST again and again, never reading, until thrown out
 *
 * An ADDRESS may be one that does not exist yet: it is waited for. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/fdio.h"
#include "wire/link/key-proof.h"
#include "wire/link/link.h"
#include "wire/mprun.pb-c.h"
#include "wire/transport/address.h"

#include "tests/unit/patience.h"
#include "wire/transport/dial.h"

static int fails(const char *what)
{
    fprintf(stderr, "door-peer: %s: %s\n", what, strerror(errno));
    return 1;
}

static int knock(const char *address)
{
    struct error e;
    for (double end = loop_now() + patience(30); loop_now() < end;) {
        int fd = dial_wait(address, 5, &e);
        if (fd >= 0)
            return fd;
        if (e.code == EACCES || e.code == EPERM)
            break;
        poll(NULL, 0, 1);
    }
    fprintf(stderr, "door-peer: %s\n", e.text);
    exit(1);
}

/* ---- ports ----------------------------------------------------------------------------------- */

static int has_socket(const char *pid, unsigned long inode)
{
    char dir[64], wanted[64], link[64];
    snprintf(dir, sizeof(dir), "/proc/%s/fd", pid);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    DIR *d = opendir(dir);
    int found = 0;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
        link[n > 0 ? n : 0] = 0;
        found = strcmp(link, wanted) == 0;
    }
    if (d)
        closedir(d);
    return found;
}

static int ports(const char *pid)
{
    char line[512];
    int found = 0;
    FILE *f = fopen("/proc/net/tcp", "r");
    if (!f)
        return fails("/proc/net/tcp");
    while (fgets(line, sizeof(line), f)) {
        unsigned at, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %*x:%x %*x:%*x %x %*s %*s %*s %*s %*s %lu", &at, &state, &inode) ==
                3 &&
            state == 10 && has_socket(pid, inode)) {
            printf("tcp:127.0.0.1:%u\n", at);
            found++;
        }
    }
    fclose(f);
    return !found;
}

/* ---- strangers ------------------------------------------------------------------------------- */

struct claim {
    struct loop *loop;
};

static int opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    puts("let in");
    exit(1);
}

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    puts(why->text);
    loop_stop(((struct claim *)arg)->loop);
}

static int wrong_key(const char *address, const char *host)
{
    static const struct link_events events = {.opened = opened, .frame = frame, .closed = closed};
    static const uint8_t key[LINK_KEY] = "not the step's key";
    struct claim c;
    struct error e;
    if (handshake_library_init(&e) < 0 || !(c.loop = loop_create(&e)))
        return fails(e.text);
    struct link_options o = {
        .role = LINK_CONNECTOR,
        .key = key,
        .host_id = (uint32_t)atoi(host),
        .security =
            strncmp(address, "tcp:", 4) == 0 ? LINK_ENCRYPT : LINK_PLAIN, /* mprun's default */
    };
    int fd = knock(address);
    struct link *l = link_create(c.loop, fd, fd, &o, "mprun", &events, &c, &e);
    if (!l)
        return fails(e.text);
    loop_run(c.loop);
    link_destroy(l);
    loop_destroy(c.loop);
    return 0;
}

static int garbage(const char *address)
{
    char junk[4096];
    int fd = knock(address);
    memset(junk, 'x', sizeof(junk));
    struct pollfd p = {.fd = fd, .events = POLLIN};
    fd_set_nonblock(fd, 1);
    for (double end = loop_now() + patience(30); loop_now() < end;) {
        ssize_t n = send(fd, junk, sizeof(junk), MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            return 0; /* thrown out */
        if (poll(&p, 1, 10) > 0 && recv(fd, junk + 1, 1, 0) <= 0)
            return 0;
    }
    errno = ETIMEDOUT;
    return fails("garbage is still taken");
}

static int wait_closed(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char c;
    return poll(&p, 1, patience(30) * 1000) == 1 && recv(fd, &c, 1, 0) <= 0 ? 0 : -1;
}

static int silent(const char *address, const char *number, const char *file)
{
    int n = atoi(number), *fds = calloc((size_t)n, sizeof(*fds));
    for (int i = 0; i < n; i++)
        fds[i] = knock(address);
    double begin = loop_now();
    if (file)
        close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (int i = 0; i < n; i++)
        if (wait_closed(fds[i]) < 0)
            return fails("a silent peer is still there");
    printf("%.1f\n", loop_now() - begin);
    free(fds);
    return 0;
}

/* ---- tools ----------------------------------------------------------------------------------- */

static void print_status(const uint8_t *p, size_t n)
{
    Mprun__StatusReply *m = mprun__status_reply__unpack(NULL, n, p);
    if (!m)
        exit(fails("the answer cannot be read"));
    printf("step %s: %s, %u ranks, %u started, %u ended, %u hosts\n", m->step_id, m->state,
           m->nranks, m->started, m->ended, m->hosts);
    mprun__status_reply__free_unpacked(m, NULL);
}

static int status(const char *socket_path)
{
    static const uint8_t request[FRAME_HEADER] = {0, 0, 0, 0, FRAME_STATUS_REQUEST};
    char address[ADDRESS_TEXT];
    uint8_t header[FRAME_HEADER], payload[FRAME_PAYLOAD_MAX];
    struct frame_header h;
    struct error e;
    if (address_of_path("unix", socket_path, address) < 0)
        return fails(socket_path);
    int fd = knock(address);
    if (fd_write_all(fd, request, sizeof(request)) < 0 ||
        fd_read_all(fd, header, sizeof(header)) < 0 || frame_header_unpack(header, &h, &e) < 0 ||
        h.type != FRAME_STATUS_REPLY || fd_read_all(fd, payload, h.length) < 0)
        return fails("no answer");
    print_status(payload, h.length);
    close(fd);
    return 0;
}

static int deaf(const char *socket_path)
{
    static const uint8_t request[FRAME_HEADER] = {0, 0, 0, 0, FRAME_STATUS_REQUEST};
    char address[ADDRESS_TEXT];
    uint8_t many[FRAME_HEADER * 512];
    if (address_of_path("unix", socket_path, address) < 0)
        return fails(socket_path);
    int fd = knock(address);
    for (size_t i = 0; i < sizeof(many); i += FRAME_HEADER)
        memcpy(many + i, request, FRAME_HEADER);
    fd_set_nonblock(fd, 1);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    for (double end = loop_now() + patience(30); loop_now() < end;) {
        /* whole requests only: a socket of the kernel takes all of so little, or nothing */
        if (send(fd, many, sizeof(many), MSG_NOSIGNAL) < 0 && errno != EAGAIN)
            return 0; /* thrown out */
        poll(&p, 1, 100);
    }
    errno = ETIMEDOUT;
    return fails("it is still answered");
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 3 && strcmp(argv[1], "port") == 0)
        return ports(argv[2]);
    if (argc == 4 && strcmp(argv[1], "wrong-key") == 0)
        return wrong_key(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "garbage") == 0)
        return garbage(argv[2]);
    if (argc >= 4 && strcmp(argv[1], "silent") == 0)
        return silent(argv[2], argv[3], argv[4]);
    if (argc == 3 && strcmp(argv[1], "status") == 0)
        return status(argv[2]);
    if (argc == 3 && strcmp(argv[1], "deaf") == 0)
        return deaf(argv[2]);
    fputs("usage: see the beginning of door-peer.c\n", stderr);
    return 2;
}
