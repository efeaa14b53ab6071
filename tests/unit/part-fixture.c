/* SPDX-License-Identifier: BSD-3-Clause */
#include "part-fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

enum { NOBODY = 65534 };

int part_be_ordinary(void **state)
{
    gid_t group = PART_GROUP;
    if (geteuid() == 0 && (setgroups(1, &group) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                           setresuid(NOBODY, NOBODY, NOBODY) < 0))
        return -1;
    umask(022);
    return 0;
}

static void socket_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void become(const char *path, int control)
{
    char *argv[] = {(char *)path, NULL};
    if (control == START_CONTROL)
        (void)fcntl(control, F_SETFD, 0);
    else
        (void)dup2(control, START_CONTROL);
    execv(path, argv);
    _exit(127);
}

void part_start(const char *name, struct part *ret)
{
    int control[2];
    char path[4096];
    snprintf(path, sizeof(path), "%s/node-daemon/%s", getenv("MPRUN_BUILD"), name);
    socket_pair(control);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        become(path, control[1]);
    close(control[1]);
    *ret = (struct part){.pid = pid, .control = control[0], .link = -1};
    ret->link = part_link_again(ret);
}

void part_give(const struct part *p, enum gift gift, unsigned which, int fd)
{
    struct gift_record r = {.head = record_head(gift, 0), .which = which};
    assert_int_equal(record_send(p->control, &r, sizeof(r), fd), 0);
    if (fd >= 0)
        close(fd);
}

int part_link_again(const struct part *p)
{
    int ends[2];
    socket_pair(ends);
    part_give(p, GIFT_LINK, ROLE_FRONT, ends[1]);
    return ends[0];
}

void part_give_all(const struct part *p)
{
    struct plan plan = {.head = record_head(GIFT_ALL, 0)};
    part_give(p, GIFT_ALL, 0, -1);
    assert_int_equal(record_send(p->control, &plan, sizeof(plan), -1), 0);
}

void part_is_ready(const struct part *p)
{
    struct told_record t;
    struct pollfd told = {.fd = p->control, .events = POLLIN};
    int none;
    part_give_all(p);
    assert_int_equal(poll(&told, 1, (int)(patience(10) * 1000)), 1);
    assert_int_equal(record_receive(p->control, &t, sizeof(t), &none), 1);
    assert_int_equal(t.head.what, TOLD_READY);
}

int part_text(const char *text, mode_t mode)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    return fd;
}

int part_wait(struct part *p)
{
    int status;
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    close(p->control);
    close(p->link);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void part_end(struct part *p)
{
    assert_int_equal(shutdown(p->control, SHUT_RDWR), 0);
    assert_int_equal(part_wait(p), 0);
}

bool part_can_be_looked_into(const struct part *p)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)p->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int part_become_front(struct start *ret)
{
    int ends[2];
    memset(ret, 0, sizeof(*ret));
    memset(ret->link, -1, sizeof(ret->link));
    memset(ret->ground, -1, sizeof(ret->ground));
    memset(ret->of, -1, sizeof(ret->of));
    socket_pair(ends);
    if (ends[1] != START_CONTROL) {
        int other = fcntl(ends[0], F_DUPFD_CLOEXEC, START_CONTROL + 1); /* it may be in the way */
        close(ends[0]);
        assert_int_equal(dup3(ends[1], START_CONTROL, O_CLOEXEC), START_CONTROL);
        close(ends[1]);
        return other;
    }
    return ends[0];
}
