/* SPDX-License-Identifier: BSD-3-Clause */
/* proc-events.c - the process connector: netlink messages of <linux/cn_proc.h>
 *
 * All processes of the host's make these events: forks, execs, new names, ends. A socket filter
 * lets the kernel drop all but execs before they are queued, so that a storm of short processes
 * costs one wake-up and one stat() an exec, and the queue holds some ten thousand. When it
 * overflows recv() says ENOBUFS, once, and the socket goes on. */
#include "node-daemon/watch/proc-events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"

enum {
    DATAGRAM_MAX = 8192,
    DATAGRAMS_A_TURN = 256, /* others are served in between */
    EVENT_HEAD = offsetof(struct proc_event, event_data),
};
static const double ANSWER_S = 5;

/* ---- messages -------------------------------------------------------------------------------- */

static void read_event(const char *data, size_t n, struct proc_event_seen *ret)
{
    struct proc_event e;
    memset(&e, 0, sizeof(e));
    memcpy(&e, data, n < sizeof(e) ? n : sizeof(e));
    if (e.what == PROC_EVENT_EXEC && n >= EVENT_HEAD + sizeof(e.event_data.exec) &&
        e.event_data.exec.process_tgid > 0) {
        ret->kind = PROC_EXEC;
        ret->pid = e.event_data.exec.process_tgid;
    } else if (e.what == PROC_EVENT_NONE && n >= EVENT_HEAD + sizeof(e.event_data.ack)) {
        ret->kind = PROC_ANSWER;
        ret->error = (int)e.event_data.ack.err;
    }
}

int proc_event_next(const void *datagram, size_t n, size_t *at, struct proc_event_seen *ret)
{
    struct nlmsghdr head;
    struct cn_msg cn;
    const char *p = (const char *)datagram + *at;
    size_t left = *at < n ? n - *at : 0;
    if (left < sizeof(head))
        return 0;
    memcpy(&head, p, sizeof(head));
    if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > left)
        return 0;
    size_t step = NLMSG_ALIGN(head.nlmsg_len);
    *at += step < left ? step : left;
    *ret = (struct proc_event_seen){.kind = PROC_OTHER};
    size_t body = head.nlmsg_len - sizeof(head);
    if (body < sizeof(cn))
        return 1;
    memcpy(&cn, p + sizeof(head), sizeof(cn));
    if (cn.id.idx == CN_IDX_PROC && cn.id.val == CN_VAL_PROC && cn.len <= body - sizeof(cn))
        read_event(p + sizeof(head) + sizeof(cn), cn.len, ret);
    return 1;
}

/* ---- the socket ------------------------------------------------------------------------------ */

struct proc_events {
    int fd;
    struct loop_io *io;
    struct loop_timer answer; /* until the kernel has answered */
    struct proc_events_calls calls;
    void *arg;
};

/* The filter looks at proc_event.what: BPF reads it as a big-endian number. */
static int set_filter(int fd)
{
    enum { WHAT = NLMSG_HDRLEN + sizeof(struct cn_msg) };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WHAT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_NONE), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

static int send_wish(int fd, enum proc_cn_mcast_op op)
{
    struct cn_msg cn = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = sizeof(op)};
    char m[NLMSG_HDRLEN + sizeof(cn) + sizeof(op)];
    struct nlmsghdr head = {.nlmsg_len = sizeof(m), .nlmsg_type = NLMSG_DONE};
    memcpy(m, &head, sizeof(head));
    memcpy(m + NLMSG_HDRLEN, &cn, sizeof(cn));
    memcpy(m + NLMSG_HDRLEN + sizeof(cn), &op, sizeof(op));
    return send(fd, m, sizeof(m), 0) < 0 ? -1 : 0;
}

/* In another process namespace there are events, or none, of processes that have other numbers
 * here. */
static int is_hosts_namespace(void)
{
    static const ino_t FIRST = 0xEFFFFFFC; /* PROC_PID_INIT_INO */
    struct stat st;
    return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == FIRST;
}

static int open_socket(size_t queue_bytes, struct error *err)
{
    if (!is_hosts_namespace())
        return error_set(err, ENOTSUP,
                         "hear of processes: mprund is not in the host's own process namespace");
    int bytes = (int)queue_bytes;
    struct sockaddr_nl own = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    AUTO_CLOSE int fd =
        socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_CONNECTOR);
    if (fd < 0 || set_filter(fd) < 0)
        return error_errno(err, errno, "hear of processes");
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    if (bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0 ||
        send_wish(fd, PROC_CN_MCAST_LISTEN) < 0)
        return error_errno(err, errno,
                           "hear of processes (mprund has to be root and in the host's own network "
                           "namespace)");
    return take_fd(&fd);
}

/* ---- hearing --------------------------------------------------------------------------------- */

static void take_answer(struct proc_events *p, int error)
{
    if (error)
        log_error("hear of processes: the kernel refuses: %s",
                  strerror(error < 0 ? -error : error));
    loop_timer_stop(&p->answer);
}

static void take_datagram(struct proc_events *p, const void *datagram, size_t n)
{
    struct proc_event_seen e;
    size_t at = 0;
    while (proc_event_next(datagram, n, &at, &e)) {
        if (e.kind == PROC_EXEC)
            p->calls.exec(p->arg, e.pid);
        else if (e.kind == PROC_ANSWER)
            take_answer(p, e.error);
    }
}

static void readable(void *arg, int fd, unsigned events)
{
    struct proc_events *p = arg;
    char buf[DATAGRAM_MAX];
    for (int i = 0; i < DATAGRAMS_A_TURN; i++) {
        struct sockaddr_nl from = {.nl_pid = 1};
        socklen_t len = sizeof(from);
        ssize_t n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
        if (n < 0 && errno == ENOBUFS)
            p->calls.lost(p->arg);
        else if (n < 0)
            return;
        else if (from.nl_pid == 0) /* 0: the kernel, and not a process that writes to us */
            take_datagram(p, buf, (size_t)n);
    }
}

static void no_answer(void *arg)
{
    log_error(
        "hear of processes: the kernel does not answer, as in a process namespace; what begins "
        "is not heard of");
}

struct proc_events *proc_events_create(struct loop *l, size_t queue_bytes,
                                       const struct proc_events_calls *calls, void *arg,
                                       struct error *err)
{
    int fd = open_socket(queue_bytes, err);
    if (fd < 0)
        return NULL;
    struct proc_events *p = must(calloc(1, sizeof(*p)));
    *p = (struct proc_events){.fd = fd, .calls = *calls, .arg = arg};
    p->io = loop_io_create(l, fd, LOOP_READ, readable, p);
    loop_timer_init(&p->answer, l, no_answer, p);
    loop_timer_start(&p->answer, ANSWER_S, 0);
    return p;
}

void proc_events_destroy(struct proc_events *p)
{
    if (!p)
        return;
    (void)send_wish(p->fd, PROC_CN_MCAST_IGNORE);
    loop_io_destroy(p->io);
    loop_timer_stop(&p->answer);
    close(p->fd);
    free(p);
}
