/* SPDX-License-Identifier: BSD-3-Clause */
/* old-kernel PROGRAM ARGS... - run a program on a kernel that lacks what came after 4.18
 *
 * A seccomp filter answers ENOSYS to clone3, pidfd_*, close_range, openat2, faccessat2 and
 * epoll_pwait2, as Linux 4.18 would. For tests of what mprun does instead. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSE(nr)                                                                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)

enum { /* the same numbers on every architecture */
       NR_PIDFD_SEND_SIGNAL = 424,
       NR_PIDFD_OPEN = 434,
       NR_CLONE3 = 435,
       NR_CLOSE_RANGE = 436,
       NR_OPENAT2 = 437,
       NR_PIDFD_GETFD = 438,
       NR_FACCESSAT2 = 439,
       NR_EPOLL_PWAIT2 = 441,
};

int main(int argc, char **argv)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(NR_PIDFD_SEND_SIGNAL),
        REFUSE(NR_PIDFD_OPEN),
        REFUSE(NR_CLONE3),
        REFUSE(NR_CLOSE_RANGE),
        REFUSE(NR_OPENAT2),
        REFUSE(NR_PIDFD_GETFD),
        REFUSE(NR_FACCESSAT2),
        REFUSE(NR_EPOLL_PWAIT2),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (argc < 2) {
        fprintf(stderr, "usage: old-kernel PROGRAM ARGS...\n");
        return 2;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        fprintf(stderr, "old-kernel: seccomp: %s\n", strerror(errno));
        return 77;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "old-kernel: execute '%s': %s\n", argv[1], strerror(errno));
    return 127;
}
