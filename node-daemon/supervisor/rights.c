/* SPDX-License-Identifier: BSD-3-Clause */
/* rights.c - users and capabilities of the processes of mprund, by libcap-ng */
#include "node-daemon/supervisor/supervisor.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>

static const capng_type_t OWN = CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET;

/* DAC_OVERRIDE, CHOWN: cgroups that are users' in part; KILL: kernels without cgroup.kill;
 * SYS_ADMIN: notes (trusted.*); SYS_PTRACE: /proc with hidepid; SYS_NICE: the kernel asks for it
 * when a process of root's comes into a cpuset. */
static const int movers[] = {CAP_CHOWN,      CAP_DAC_OVERRIDE, CAP_KILL, CAP_SYS_ADMIN,
                             CAP_SYS_PTRACE, CAP_SYS_NICE,     -1};
/* Process events, and what root's processes run. */
static const int watchs[] = {CAP_NET_ADMIN, CAP_SYS_PTRACE, -1};
/* pbs_mom's files, where they are configured. */
static const int readers[] = {CAP_DAC_READ_SEARCH, -1};
/* To start them. */
static const int supervisors[] = {
    CAP_CHOWN,    CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_KILL,   CAP_SYS_ADMIN, CAP_SYS_PTRACE,
    CAP_SYS_NICE, CAP_NET_ADMIN,    CAP_SETUID,          CAP_SETGID, CAP_SETPCAP,   -1};

/* Those and no others, as far as a container has left them to its root. */
static int choose(const int *caps, capng_type_t type)
{
    bool has[CAP_LAST_CAP + 1];
    if (capng_get_caps_process() != 0)
        return -1;
    for (int c = 0; c <= CAP_LAST_CAP; c++)
        has[c] = capng_have_capability(CAPNG_PERMITTED, (unsigned)c);
    capng_clear(CAPNG_SELECT_ALL);
    for (; *caps >= 0; caps++)
        if (has[*caps] && capng_update(CAPNG_ADD, type, (unsigned)*caps) != 0)
            return -1;
    return 0;
}

static int keep_only(const int *caps)
{
    return choose(caps, OWN) == 0 && capng_apply(CAPNG_SELECT_BOTH) == 0 ? 0 : -1;
}

int rights_of_supervisor(void)
{
    errno = EPERM;
    return keep_only(supervisors);
}

/* Ambient capabilities outlive the exec of a program that is not root's. */
static int be_user(const struct plan *plan, const int *caps)
{
    static const int none[] = {-1};
    capng_type_t type = OWN | CAPNG_INHERITABLE | CAPNG_AMBIENT;
    if (choose(caps ? caps : none, type) < 0 ||
        capng_change_id((int)plan->uid, (int)plan->gid,
                        CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING) != 0)
        return -1;
    return caps && capng_apply(CAPNG_SELECT_AMBIENT) != 0 ? -1 : 0;
}

int rights_take(enum role role, const struct plan *plan)
{
    const int *few = role == ROLE_READER && plan->reads_roots ? readers : NULL;
    errno = EPERM;
    int rc =
        role == ROLE_MOVER ? keep_only(movers) : be_user(plan, role == ROLE_WATCH ? watchs : few);
    return rc < 0 ? -1 : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
