/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-protocol.c - checks messages, and does the client's part
 *
 * The client trusts the socket only as far as it must: root has to own the directory, and the
 * process behind the socket. */
#include "containment/mprund-protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"

enum { JOB_NAME_LETTERS = 40, PAUSE_MS = 50 };

bool grant_is_job_name(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._";
    size_t n = strnlen(text, JOB_NAME_LETTERS + 1);
    return n > 0 && n <= JOB_NAME_LETTERS && strchr(letters, text[0]) && strspn(text, all) == n;
}

void grant_request_init(struct grant_request *r, enum grant_op op, enum grant_manager manager)
{
    memset(r, 0, sizeof(*r));
    r->magic = GRANT_MAGIC;
    r->version = GRANT_VERSION;
    r->op = (uint16_t)op;
    r->manager = manager;
}

/* Returns whether text ends within its field, and zeros follow it. */
static bool is_text(const char *field, size_t size)
{
    size_t n = strnlen(field, size);
    for (size_t i = n; i < size; i++)
        if (field[i])
            return false;
    return n < size;
}

const char *grant_request_fault(const struct grant_request *r, size_t n)
{
    if (n != sizeof(*r))
        return "the request has a wrong size";
    if (r->magic != GRANT_MAGIC)
        return "the request is none";
    if (r->version != GRANT_VERSION)
        return "the request is of another version than this mprund";
    if (r->op < GRANT_PLACE || r->op > GRANT_SUSPENDED || r->manager > GRANT_GRIDENGINE ||
        r->bind > GRANT_BIND_TRY)
        return "the request asks for something that this mprund does not know";
    if (!is_text(r->job, sizeof(r->job)) || !is_text(r->task, sizeof(r->task)) ||
        !is_text(r->cgroup, sizeof(r->cgroup)) || !is_text(r->ids, sizeof(r->ids)) ||
        !is_text(r->cpus, sizeof(r->cpus)))
        return "the request has a text without an end";
    int names_job = r->op == GRANT_ENTER || r->op == GRANT_BIND;
    if (!names_job && (r->manager || r->uid || r->memory || r->pids || r->cores || r->gpus ||
                       r->job[0] || r->task[0]))
        return "the request says what is for mprund to find out";
    if (r->op != GRANT_BIND && (r->bind || r->virtual_memory))
        return "the request binds without being one that does";
    bool names_cgroup = r->op == GRANT_DEVICES || r->op == GRANT_SUSPENDED;
    if (names_cgroup != (r->cgroup[0] != 0) || (!names_cgroup && r->ids[0]) ||
        (r->op != GRANT_SUSPENDED && r->cpus[0]))
        return "the request is of devices or cores without being one, or names no cgroup";
    return NULL;
}

static const char *grant_answer_fault(const struct grant_answer *a, size_t n)
{
    if (n != sizeof(*a) || a->magic != GRANT_MAGIC)
        return "the answer is none";
    if (a->version != GRANT_VERSION)
        return "the answer is of another version: mprun and mprund are not of one release";
    if (!is_text(a->job, sizeof(a->job)) || !is_text(a->v2, sizeof(a->v2)) ||
        !is_text(a->cpus, sizeof(a->cpus)) || !is_text(a->gpus, sizeof(a->gpus)) ||
        !is_text(a->gpu_cores, sizeof(a->gpu_cores)) || !is_text(a->text, sizeof(a->text)) ||
        !is_text(a->host, sizeof(a->host)) || !is_text(a->token, sizeof(a->token)))
        return "the answer has a text without an end";
    return NULL;
}

static int check_daemon(int fd, const char *path, struct error *err)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return error_errno(err, errno, "ask mprund at '%s' who it is", path);
    if (who.uid != 0)
        return error_set(err, EPERM, "ask mprund at '%s': what answers there is not root's", path);
    return 0;
}

/* ---- is there life? -------------------------------------------------------------------------- */

/* Returns the seconds since the mprund at this socket has touched its lock, which its two sockets
 * share; GRANT_SILENT_S if the touch is in the future, because the clock was set back since. */
static double silence(const char *socket)
{
    struct stat st;
    if (!strcmp(socket, GRANT_ROOT_SOCKET))
        socket = GRANT_SOCKET;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof(GRANT_LOCK)];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(path, sizeof(path), "%s" GRANT_LOCK, socket);
    if (lstat(path, &st) < 0)
        return GRANT_SILENT_S;
    double s = (double)(now.tv_sec - st.st_mtim.tv_sec) +
               (double)(now.tv_nsec - st.st_mtim.tv_nsec) * 1e-9;
    return s < -GRANT_SIGN_S ? GRANT_SILENT_S : s;
}

static int is_silent(double seconds, struct error *err)
{
    return error_set(err, ETIMEDOUT,
                     "mprund does not answer (no sign of life for %.0f s): root can restart it, "
                     "'systemctl restart mprund', and jobs go on meanwhile",
                     seconds);
}

double grant_patience(int fd, double asked, double most, struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t n = sizeof(at) - 1;
    double waited = loop_now() - asked;
    double quiet = getpeername(fd, (struct sockaddr *)&at, &n) == 0 ? silence(at.sun_path) : 0;
    double more = GRANT_SILENT_S - quiet, least = GRANT_LEAST_S - waited;
    if (more < least)
        more = least;
    if (waited >= most)
        (void)error_set(err, EAGAIN, "mprund has not answered within %g s", most);
    else if (more <= 0)
        (void)is_silent(quiet, err);
    else
        return more < most - waited ? more : most - waited;
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Waits for room in a full queue of connections. Returns 0; -1 with errno; EAGAIN: still full. */
static int dial(int fd, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const struct timeval most = {.tv_usec = (suseconds_t)(GRANT_LEAST_S * 1e6)};
    if (strlen(path) >= sizeof(to.sun_path))
        return error_number(ENAMETOOLONG);
    strcpy(to.sun_path, path);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) < 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return -1;
    return fcntl(fd, F_SETFL, O_NONBLOCK);
}

int grant_send(const char *path, const struct grant_request *r, struct error *err)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool is_there = !path && geteuid() == 0 && fd >= 0 && dial(fd, GRANT_ROOT_SOCKET) == 0;
    if (!path)
        path = is_there ? GRANT_ROOT_SOCKET : GRANT_SOCKET;
    if (fd < 0 || (!is_there && dial(fd, path) < 0))
        return errno == EAGAIN && silence(path) >= GRANT_SILENT_S
                   ? is_silent(silence(path), err)
                   : error_errno(err, errno, "ask mprund at '%s'", path);
    if (check_daemon(fd, path, err) < 0)
        return -1;
    /* mprund may have answered already, if it turned this client away before it asked */
    if (send(fd, r, sizeof(*r), MSG_NOSIGNAL) != (ssize_t)sizeof(*r) && errno != EPIPE)
        return error_errno(err, errno, "ask mprund at '%s'", path);
    return take_fd(&fd);
}

int grant_send_patiently(const struct grant_request *r, double seconds, struct error *err)
{
    double end = loop_now() + seconds;
    for (;;) {
        int fd = grant_send(NULL, r, err);
        if (fd >= 0 || loop_now() >= end || (errno != EAGAIN && errno != ECONNREFUSED) ||
            (errno == ECONNREFUSED && silence(GRANT_SOCKET) >= GRANT_SILENT_S))
            return fd;
        poll(NULL, 0, errno == ECONNREFUSED ? PAUSE_MS : 0);
    }
}

/* When the daemon closed before it read the request, the kernel tells that first, and only once. */
static ssize_t receive(int fd, struct grant_answer *ret)
{
    ssize_t n = recv(fd, ret, sizeof(*ret), MSG_TRUNC);
    return n < 0 && errno == ECONNRESET ? recv(fd, ret, sizeof(*ret), MSG_TRUNC) : n;
}

void grant_answer_init(struct grant_answer *a, enum grant_result result, const char *text)
{
    memset(a, 0, sizeof(*a));
    a->magic = GRANT_MAGIC;
    a->version = GRANT_VERSION;
    a->result = (uint16_t)result;
    if (text)
        snprintf(a->text, sizeof(a->text), "%s", text);
}

int grant_receive(int fd, double seconds, struct grant_answer *ret, struct error *err)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    double more, asked = loop_now();
    ssize_t n;
    while ((n = receive(fd, ret)) < 0 && errno == EAGAIN) {
        if ((more = grant_patience(fd, asked, seconds, err)) <= 0)
            return -1;
        poll(&p, 1, (int)(more * 1000) + 1);
    }
    if (n < 0)
        return error_errno(err, errno, "hear from mprund");
    if (n == 0)
        return error_set(err, EPIPE,
                         "mprund hung up without an answer: it has no time for this user now");
    const char *fault = grant_answer_fault(ret, (size_t)n);
    return fault ? error_set(err, EPROTO, "hear from mprund: %s", fault) : 0;
}
