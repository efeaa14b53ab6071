/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.c - see hello.h */
#include "starter/hello.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/login-session.h"
#include "common/proc.h"
#include "starter/containment/step-containment.h"
#include "starter/links/uplink.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

void hello_send(struct uplink *up, const char *hostname, pid_t keeper, const struct idset *allowed,
                const struct step_containment *containment)
{
    Mprun__Hello m = MPRUN__HELLO__INIT;
    struct sysinfo si;
    char session[80];
    AUTO_FREE char *threads = idset_format(allowed);
    m.protocol = PROTOCOL_VERSION;
    m.version = PACKAGE_VERSION;
    m.host_id = up->start.host_id;
    m.hostname = bytes_of(hostname);
    m.worker_pid = (uint64_t)getpid();
    m.keeper_pid = (uint64_t)keeper;
    m.uid = geteuid();
    m.boot_id = (char *)(uintptr_t)proc_boot_id();
    m.allowed_threads = threads ? threads : (char *)(uintptr_t) "";
    m.allowed_cores = cpus_count_cores(allowed);
    if (sysinfo(&si) == 0)
        m.memory = (uint64_t)si.totalram * si.mem_unit;
    m.why_stdio = (char *)(uintptr_t)up->why_start_channel;
    login_session_find(session, sizeof(session));
    m.login_session = session;
    m.tracking = containment->level;
    m.tracking_reason = (char *)(uintptr_t)containment->reason;
    uplink_send(up, FRAME_HELLO, &m.base);
}
