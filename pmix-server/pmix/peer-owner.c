/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/peer-owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/error.h"

/* In network order, as the kernel has it. */
struct end {
    uint32_t address[4]; /* one of IPv4 is in the first alone */
    in_port_t port;
};

/* As the peer sees the connection: its own end first. */
struct ends {
    int family;
    struct end peer, own;
};

static int take_end(const struct sockaddr_storage *from, struct end *to)
{
    const struct sockaddr_in *in = (const void *)from;
    const struct sockaddr_in6 *in6 = (const void *)from;
    *to = (struct end){.port = 0};
    if (from->ss_family == AF_INET) {
        to->port = in->sin_port;
        memcpy(to->address, &in->sin_addr, sizeof(in->sin_addr));
    } else if (from->ss_family == AF_INET6) {
        to->port = in6->sin6_port;
        memcpy(to->address, &in6->sin6_addr, sizeof(in6->sin6_addr));
    } else
        return error_number(EAFNOSUPPORT);
    return 0;
}

static int take_ends(int fd, struct ends *ret)
{
    struct sockaddr_storage peer, own;
    socklen_t npeer = sizeof(peer), nown = sizeof(own);
    if (getpeername(fd, (struct sockaddr *)&peer, &npeer) < 0 ||
        getsockname(fd, (struct sockaddr *)&own, &nown) < 0)
        return -1;
    ret->family = peer.ss_family;
    return take_end(&peer, &ret->peer) < 0 || take_end(&own, &ret->own) < 0 ? -1 : 0;
}

/* ---- sock_diag ------------------------------------------------------------------------------- */

struct question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
};

union answer {
    struct nlmsghdr header;
    char space[1024]; /* with attributes that nobody asked for */
};

static void make_question(const struct ends *e, struct question *q)
{
    struct inet_diag_sockid *id = &q->request.id;
    *q = (struct question){
        .header = {.nlmsg_len = sizeof(*q),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = (uint8_t)e->family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = 1 << TCP_ESTABLISHED},
    };
    id->idiag_sport = e->peer.port;
    id->idiag_dport = e->own.port;
    memcpy(id->idiag_src, e->peer.address, sizeof(id->idiag_src));
    memcpy(id->idiag_dst, e->own.address, sizeof(id->idiag_dst));
    id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* Checks the answer's socket: the request names one, but its states hold only for lists. */
static int take_answer(const union answer *a, size_t n, uid_t *ret)
{
    const struct inet_diag_msg *m = NLMSG_DATA(&a->header);
    const struct nlmsgerr *error = NLMSG_DATA(&a->header);
    if (!NLMSG_OK(&a->header, n))
        errno = EPROTO;
    else if (a->header.nlmsg_type == NLMSG_ERROR && n >= NLMSG_LENGTH(sizeof(*error)))
        errno = -error->error;
    else if (a->header.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < NLMSG_LENGTH(sizeof(*m)))
        errno = EPROTO;
    else if (m->idiag_state != TCP_ESTABLISHED)
        errno = ENOENT;
    else {
        *ret = m->idiag_uid;
        return 0;
    }
    return -1;
}

int peer_owner_by_diag(int fd, uid_t *ret)
{
    struct ends e;
    struct question q;
    union answer a;
    AUTO_CLOSE int nl = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (nl < 0 || take_ends(fd, &e) < 0)
        return -1;
    make_question(&e, &q);
    if (send(nl, &q, sizeof(q), 0) < 0)
        return -1;
    ssize_t n = recv(nl, &a, sizeof(a), 0); /* the kernel has answered before send() returned */
    return n < 0 ? -1 : take_answer(&a, (size_t)n, ret);
}

/* ---- /proc/net ------------------------------------------------------------------------------- */

static int print_end(char *to, size_t n, const struct ends *e, const struct end *end)
{
    int len = 0;
    for (int i = 0; i < (e->family == AF_INET ? 1 : 4); i++)
        len += snprintf(to + len, n - (size_t)len, "%08X", end->address[i]);
    return len + snprintf(to + len, n - (size_t)len, ":%04X", ntohs(end->port));
}

int peer_owner_by_proc(int fd, uid_t *ret)
{
    struct ends e;
    char wanted[120], line[512];
    unsigned uid;
    if (take_ends(fd, &e) < 0)
        return -1;
    AUTO_FILE FILE *f = fopen(e.family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
    if (!f)
        return -1;
    int n = snprintf(wanted, sizeof(wanted), ": ");
    n += print_end(wanted + n, sizeof(wanted) - (size_t)n, &e, &e.peer);
    n += snprintf(wanted + n, sizeof(wanted) - (size_t)n, " ");
    n += print_end(wanted + n, sizeof(wanted) - (size_t)n, &e, &e.own);
    snprintf(wanted + n, sizeof(wanted) - (size_t)n, " %02X ", TCP_ESTABLISHED);
    while (fgets(line, sizeof(line), f)) {
        const char *at = strstr(line, wanted);
        if (at && sscanf(at + strlen(wanted), "%*s %*s %*s %u", &uid) == 1) {
            *ret = (uid_t)uid;
            return 0;
        }
    }
    return error_number(ENOENT);
}

int peer_owner(int fd, uid_t *ret)
{
    return peer_owner_by_diag(fd, ret) == 0 ? 0 : peer_owner_by_proc(fd, ret);
}
