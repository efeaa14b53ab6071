/* SPDX-License-Identifier: BSD-3-Clause */
/* rights.c - users and capabilities of the processes of mprund, by libcap-ng */
#include "node-daemon/supervisor/rights.h"

#include <cap-ng.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static const capng_type_t ALL = CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET;

/* DAC_OVERRIDE, CHOWN: cgroups that are users' in part; KILL: kernels without cgroup.kill;
 * SYS_ADMIN: notes (trusted.*); SYS_PTRACE: /proc with hidepid; SYS_NICE: the kernel asks for it
 * when a process of root's comes into a cpuset. */
#define MOVERS CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_KILL, CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SYS_NICE
/* Process events, and what root's processes run. */
#define WATCHS CAP_NET_ADMIN, CAP_SYS_PTRACE

int rights_of_supervisor(void)
{
    capng_clear(CAPNG_SELECT_ALL);
    if (capng_updatev(CAPNG_ADD, ALL, MOVERS, CAP_NET_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP,
                      CAP_FOWNER, CAP_SYS_RESOURCE, -1) != 0 ||
        capng_apply(CAPNG_SELECT_BOTH) != 0) {
        errno = EPERM;
        return -1;
    }
    return 0;
}

static int be_mover(void)
{
    return capng_updatev(CAPNG_ADD, ALL, MOVERS, -1) == 0 && capng_apply(CAPNG_SELECT_BOTH) == 0
               ? 0
               : -1;
}

static int be_unprivileged(enum role role, const struct plan *plan)
{
    int keeps = role == ROLE_WATCH;
    if (keeps && capng_updatev(CAPNG_ADD, ALL | CAPNG_INHERITABLE | CAPNG_AMBIENT, WATCHS, -1) != 0)
        return -1;
    if (capng_change_id((int)plan->uid, (int)plan->gid,
                        CAPNG_DROP_SUPP_GRP | (keeps ? CAPNG_NO_FLAG : CAPNG_CLEAR_BOUNDING)) != 0)
        return -1;
    return keeps && capng_apply(CAPNG_SELECT_AMBIENT) != 0 ? -1 : 0;
}

int rights_take(enum role role, const struct plan *plan)
{
    struct rlimit none = {0, 0};
    capng_clear(CAPNG_SELECT_ALL);
    errno = EPERM;
    if ((role == ROLE_MOVER ? be_mover() : be_unprivileged(role, plan)) < 0)
        return -1;
    return setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : 0;
}
