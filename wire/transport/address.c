/* SPDX-License-Identifier: BSD-3-Clause */
/* address.c - addresses are text, and paths may hold anything: it writes blanks, control characters
 * and '%' as %XX. */
#include "wire/transport/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text/number.h"
#include "wire/tunables.h"
#include "wire/transport/tcp.h"

union any_address {
    struct sockaddr sa;
    struct sockaddr_un un;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* Fills in sun_path for a possibly long path: /proc/self/fd/N/name. *ret_dir stays open. */
static int unix_name(const char *path, struct sockaddr_un *ret, int *ret_dir)
{
    memset(ret, 0, sizeof(*ret));
    ret->sun_family = AF_UNIX;
    *ret_dir = -1;
    if (strlen(path) < sizeof(ret->sun_path)) {
        memcpy(ret->sun_path, path, strlen(path) + 1);
        return 0;
    }
    const char *slash = strrchr(path, '/');
    if (!slash)
        return error_number(ENAMETOOLONG);
    AUTO_FREE char *dir = strndup(path, (size_t)(slash - path));
    if (!dir)
        return -1;
    *ret_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return -1;
    int n =
        snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", *ret_dir, slash + 1);
    if (n < 0 || (size_t)n >= sizeof(ret->sun_path))
        return error_number(ENAMETOOLONG);
    return 0;
}

int address_of_path(const char *kind, const char *path, char ret[ADDRESS_TEXT])
{
    size_t n = (size_t)snprintf(ret, ADDRESS_TEXT, "%s:", kind);
    for (; *path && n + 4 < ADDRESS_TEXT; path++) {
        unsigned char c = (unsigned char)*path;
        if (c > ' ' && c != '%' && c != 0x7f)
            ret[n++] = *path;
        else
            n += (size_t)snprintf(ret + n, ADDRESS_TEXT - n, "%%%02X", c);
    }
    ret[n] = 0;
    if (!*path)
        return 0;
    return error_number(ENAMETOOLONG);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int to_path(const char *text, char ret[ADDRESS_TEXT])
{
    size_t n = 0;
    for (; *text && n + 1 < ADDRESS_TEXT; text++) {
        int c = (unsigned char)*text;
        if (c == '%') {
            int high = hex(text[1]), low = high < 0 ? -1 : hex(text[2]);
            c = low < 0 ? 0 : high * 16 + low;
            text += 2;
        }
        if (c == 0)
            return error_number(EINVAL);
        ret[n++] = (char)c;
    }
    ret[n] = 0;
    return *text ? -1 : 0;
}

int address_listen_unix(const char *path, char ret[ADDRESS_TEXT], struct error *err)
{
    struct sockaddr_un name;
    AUTO_CLOSE int dir = -1;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_errno(err, errno, "make a socket");
    if (address_of_path("unix", path, ret) < 0)
        return error_set(err, ENAMETOOLONG, "listen at '%.60s...': the path is too long", path);
    if (unix_name(path, &name, &dir) < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 ||
        listen(fd, LISTEN_BACKLOG) < 0)
        return error_errno(err, errno, "listen at '%s'", path);
    return take_fd(&fd);
}

static socklen_t parse_ip(const char *host, unsigned port, union any_address *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, host, &ret->in.sin_addr) == 1) {
        ret->in.sin_family = AF_INET;
        ret->in.sin_port = htons((uint16_t)port);
        return sizeof(ret->in);
    }
    if (inet_pton(AF_INET6, host, &ret->in6.sin6_addr) == 1) {
        ret->in6.sin6_family = AF_INET6;
        ret->in6.sin6_port = htons((uint16_t)port);
        return sizeof(ret->in6);
    }
    return 0;
}

/* Makes one attempt; -1 with errno. */
static int listen_at(const union any_address *a, socklen_t len, int all, unsigned *ret_port)
{
    union any_address got;
    socklen_t got_len = sizeof(got);
    int on = 1, off = 0;
    AUTO_CLOSE int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    /* for a port of a range whose last connection has just ended */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (all && a->sa.sa_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
        return -1;
    if (bind(fd, &a->sa, len) < 0 || listen(fd, LISTEN_BACKLOG) < 0 ||
        getsockname(fd, &got.sa, &got_len) < 0)
        return -1;
    *ret_port = ntohs(got.sa.sa_family == AF_INET ? got.in.sin_port : got.in6.sin6_port);
    return take_fd(&fd);
}

/* Takes the first free port, from a place on that differs from process to process. */
static int listen_in_range(const char *host, int all, const struct port_range *ports,
                           unsigned *ret_port)
{
    unsigned span = ports->high - ports->low + 1, first = (unsigned)getpid() % span;
    int fd = -1;
    for (unsigned i = 0; fd < 0 && i < span; i++) {
        union any_address a;
        socklen_t len = parse_ip(host, ports->low + (first + i) % span, &a);
        fd = listen_at(&a, len, all, ret_port);
        if (fd < 0 && errno != EADDRINUSE)
            return -1;
    }
    return fd;
}

static int cannot_listen(const char *host, const struct port_range *ports, struct error *err)
{
    if (errno == EADDRINUSE && ports->low)
        return error_set(err, EADDRINUSE, "listen on %s: every port from %u to %u is in use", host,
                         ports->low, ports->high);
    return error_errno(err, errno, "listen on %s", host);
}

int address_listen(const char *host, const struct port_range *ports, unsigned *ret_port,
                   struct error *err)
{
    static const struct port_range any = {0, 0};
    union any_address a;
    ports = ports ? ports : &any;
    if (host && parse_ip(host, 0, &a) == 0)
        return error_set(err, EINVAL, "listen on '%s': not a numeric address", host);
    int fd = listen_in_range(host ? host : "::", !host, ports, ret_port);
    if (fd < 0 && !host && errno != EADDRINUSE) { /* no IPv6 here */
        host = "0.0.0.0";
        fd = listen_in_range(host, 1, ports, ret_port);
    }
    return fd < 0 ? cannot_listen(host ? host : "all addresses", ports, err) : fd;
}

void address_of_ip(const char *ip, unsigned port, char ret[ADDRESS_TEXT])
{
    snprintf(ret, ADDRESS_TEXT, strchr(ip, ':') ? "tcp:[%s]:%u" : "tcp:%s:%u", ip, port);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static int begin_unix(const char *text)
{
    char path[ADDRESS_TEXT];
    struct sockaddr_un name;
    if (to_path(text, path) < 0)
        return -1;
    AUTO_CLOSE int dir = -1;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || unix_name(path, &name, &dir) < 0 ||
        connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
        return -1;
    return take_fd(&fd);
}

static int begin_tcp(const char *text)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    int64_t port;
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (n > 2 && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    union any_address a;
    socklen_t len = 0;
    if (colon && n < sizeof(host) && number_parse(colon + 1, "port", 1, 65535, &port, NULL) == 0) {
        snprintf(host, sizeof(host), "%.*s", (int)n, text);
        len = parse_ip(host, (unsigned)port, &a);
    }
    if (len == 0)
        return error_number(EINVAL);
    AUTO_CLOSE int fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (connect(fd, &a.sa, len) < 0 && errno != EINPROGRESS))
        return -1;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return take_fd(&fd);
}

int address_begin(const char *address)
{
    if (strncmp(address, "unix:", 5) == 0)
        return begin_unix(address + 5);
    if (strncmp(address, "tcp:", 4) == 0)
        return begin_tcp(address + 4);
    return error_number(EINVAL);
}

const char *address_next(const char *addresses, char ret[ADDRESS_TEXT])
{
    for (const char *at = addresses; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
        size_t len = strcspn(at, " ");
        if (len >= ADDRESS_TEXT || strncmp(at, "home:", 5) == 0)
            continue;
        memcpy(ret, at, len);
        ret[len] = 0;
        return at + len;
    }
    return NULL;
}

void address_own(int fd, char *ret, size_t size)
{
    struct tcp_end e;
    snprintf(ret, size, "%s", tcp_end_of(fd, false, &e) ? e.ip : "");
}

bool address_is_peer_of(int fd, uid_t user)
{
    struct ucred u;
    socklen_t len = sizeof(u);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == 0 && u.uid == user;
}

int address_home(const char *addresses, char *ret, size_t size)
{
    char text[ADDRESS_TEXT], path[ADDRESS_TEXT];
    for (const char *at = addresses; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
        size_t len = strcspn(at, " ");
        if (strncmp(at, "home:", 5) != 0 || len >= sizeof(text))
            continue;
        snprintf(text, sizeof(text), "%.*s", (int)len, at);
        return to_path(text + 5, path) == 0 && (size_t)snprintf(ret, size, "%s", path) < size;
    }
    return 0;
}
