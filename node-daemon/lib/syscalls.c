/* SPDX-License-Identifier: BSD-3-Clause */
/* syscalls.c - filters of system calls, by libseccomp
 *
 * Lists of what is refused: a list of what is allowed would change with each C library, and would
 * have to allow all that qstat does. What is refused fails with EPERM. */
#include "node-daemon/lib/syscalls.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <seccomp.h>

#include "common/processes/sanitizers.h"

/* None of them looks into processes, changes what the machine is, or reaches new parts of the
 * kernel.
 */
static const int of_all[] = {
#if !HAS_ADDRESS_SANITIZER /* which looks for leaks by it */
    SCMP_SYS(ptrace),
#endif
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(open_tree),
    SCMP_SYS(move_mount),
#ifdef __SNR_mount_setattr /* libseccomp 2.5.2 */
    SCMP_SYS(mount_setattr),
#endif
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(personality),
    SCMP_SYS(syslog)};
/* The reader starts qstat. */
static const int of_others_than_reader[] = {SCMP_SYS(execve), SCMP_SYS(execveat)};
/* The mover says which devices a job can open. */
static const int of_others_than_mover[] = {SCMP_SYS(bpf)};
/* Processes of one user can stop each other, and take each other's limits. */
static const int to_others[] = {SCMP_SYS(kill),
                                SCMP_SYS(tkill),
                                SCMP_SYS(tgkill),
                                SCMP_SYS(rt_sigqueueinfo),
                                SCMP_SYS(rt_tgsigqueueinfo),
                                SCMP_SYS(pidfd_send_signal),
                                SCMP_SYS(sched_setscheduler),
                                SCMP_SYS(sched_setparam),
                                SCMP_SYS(sched_setattr),
                                SCMP_SYS(sched_setaffinity),
                                SCMP_SYS(setpriority),
                                SCMP_SYS(ioprio_set)};
/* Watch reads the environment of a manager's process. */
static const int of_others_than_watch[] = {SCMP_SYS(process_vm_readv)};
/* The signer has all that it needs when it begins. */
static const int of_signer[] = {
#if !HAS_ADDRESS_SANITIZER /* which looks for leaks by it */
    SCMP_SYS(open),   SCMP_SYS(openat),  SCMP_SYS(openat2),
#endif
    SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind),    SCMP_SYS(fork), SCMP_SYS(vfork)};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static int refuse(scmp_filter_ctx filter, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0) < 0)
            return -1;
    return 0;
}

/* No user namespace, where a process has all capabilities. The flags of clone3 are out of a
 * filter's sight; C libraries take clone where there is no clone3. */
static int refuse_namespaces(scmp_filter_ctx filter)
{
#ifdef __s390__
    struct scmp_arg_cmp flags = SCMP_A1(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER);
#else
    struct scmp_arg_cmp flags = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER);
#endif
    int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, flags);
    return rc < 0 ? rc : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int refuse_to_others(scmp_filter_ctx filter)
{
    struct scmp_arg_cmp other = SCMP_A0(SCMP_CMP_NE, 0, 0);
    if (refuse(filter, to_others, COUNT(to_others)) < 0)
        return -1;
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1, other);
}

static int fill(scmp_filter_ctx filter, enum role role)
{
    int rc = refuse(filter, of_others_than_mover, COUNT(of_others_than_mover));
    if (rc == 0 && role != ROLE_READER)
        rc = refuse(filter, of_others_than_reader, COUNT(of_others_than_reader));
    if (rc == 0 && role != ROLE_READER) /* which ends qstat */
        rc = refuse_to_others(filter);
    if (rc == 0 && role != ROLE_WATCH)
        rc = refuse(filter, of_others_than_watch, COUNT(of_others_than_watch));
    if (rc == 0 && role == ROLE_SIGNER)
        rc = refuse(filter, of_signer, COUNT(of_signer));
    return rc;
}

/* Takes the filter, if it is whole. */
static int load(scmp_filter_ctx filter, bool is_whole, struct error *err)
{
    int rc = is_whole ? seccomp_load(filter) : -ENOMEM;
    if (filter)
        seccomp_release(filter);
    return rc < 0 ? error_errno(err, -rc, "refuse system calls") : 0;
}

int syscalls_restrict(enum role role, struct error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    return load(filter, filter && fill(filter, role) == 0, err);
}

int syscalls_restrict_all(struct error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    return load(filter,
                filter && refuse(filter, of_all, COUNT(of_all)) == 0 &&
                    refuse_namespaces(filter) == 0,
                err);
}

int syscalls_keep_to_self(struct error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    return load(filter, filter && refuse_to_others(filter) == 0, err);
}
