/* SPDX-License-Identifier: BSD-3-Clause */
/* host-prepare.c - what is done before ranks start; HELLO and READY, which tell mprun */
#include <sys/sysinfo.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/processes/fault.h"
#include "common/processes/proc.h"
#include "containment/step/tree.h"
#include "model/rank-end.h"
#include "starter/host.h"
#include "starter/keeper/keeper-channel.h"
#include "starter/pmi/pmi-server.h"
#include "starter/ranks/rank-gpus.h"
#include "wire/flow-control.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"
#include "wire/start-channel/preamble.h"
#include "config.h"

enum { PATHS_MAX = 32 }; /* cgroup paths that READY names */

/* ---- HELLO ----------------------------------------------------------------------------------- */

static void send_hello(struct host *h)
{
    Mprun__Hello m = MPRUN__HELLO__INIT;
    struct sysinfo si;
    char session[80];
    AUTO_FREE char *threads = idset_format(&h->allowed);
    m.version = PACKAGE_VERSION;
    m.hostname = bytes_of(h->with.hostname);
    m.worker_pid = (uint64_t)getpid();
    m.allowed_threads = threads;
    m.allowed_cores = cpus_count_cores(&h->allowed);
    if (sysinfo(&si) == 0)
        m.memory = (uint64_t)si.totalram * si.mem_unit;
    m.why_stdio = (char *)(uintptr_t)h->uplink.why_start_channel;
    proc_login_session(session, sizeof(session));
    m.login_session = session;
    m.tracking = h->containment.level;
    m.tracking_reason = (char *)(uintptr_t)h->containment.reason;
    uplink_send(&h->uplink, FRAME_HELLO, &m.base);
}

/* Lists the starter's own processes, and mprun if it is an ancestor; not the job's agent. */
static void own_processes(const struct host *h, pid_t ret[4])
{
    ret[0] = getpid();
    ret[1] = h->with.keeper_is_agent ? ret[0] : h->with.keeper;
    ret[2] = h->with.pmi && h->with.pmi->pid ? h->with.pmi->pid : ret[0];
    ret[3] = h->launcher ? h->launcher : ret[0];
}

void host_say_hello(struct host *h)
{
    pid_t self[4];
    own_processes(h, self);
    if (h->uplink.start.flags & PREAMBLE_EXPLAIN)
        containment_probe(&h->containment, self, 4);
    send_hello(h);
}

/* ---- between LAUNCH and READY ---------------------------------------------------------------- */

static void io_drained(void *arg)
{
    struct host *h = arg;
    loop_defer_schedule(&h->turn);
}

static int make_parts(struct host *h, struct error *err)
{
    rank_io_init(&h->io, h->with.loop, output_window(h->launch.nhosts), io_drained, h);
    rank_io_set_link(&h->io, h->uplink.link);
    ranks_init(&h->ranks, &h->with);
    if (host_directories_make(&h->directories, &h->launch, h->directory_name,
                              preload_is_offered(&h->preload), h->with.keeper_fd, err) < 0)
        return -1;
    if (preload_install(&h->preload, &h->with, &h->brought, err) < 0)
        return error_context(err, "on %s", h->with.hostname);
    idle_ranks_begin(&h->idle);
    if (rank_binding_choose(&h->binding, &h->launch, &h->allowed, h->with.keeper_fd, err) < 0)
        return -1;
    return gpu_shares_choose(&h->gpus, &h->launch, &h->binding, &h->containment.answer, err);
}

static void begin_containment(void *arg)
{
    struct host *h = arg;
    struct error e;
    pid_t self[4];
    if (h->state != HOST_PREPARING || h->end.has_begun) /* systemd has answered late */
        return;
    own_processes(h, self);
    int rc =
        containment_begin(&h->containment, rank_binding_usable(&h->binding), &h->gpus, self, 4, &e);
    struct cgroup_tree *tree = h->containment.tree;
    const char *const *paths;
    size_t n = tree ? cgroup_tree_paths(tree, &paths) : 0;
    for (size_t i = 0; i < n; i++)
        keeper_tell(h->with.keeper_fd, KEEPER_CGROUP, paths[i]);
    keeper_tell_oom_kills(h->with.keeper_fd, &h->containment.oom_kills);
    if (rc < 0)
        step_end_cannot_run(&h->end, EXIT_CODE_MPRUN, e.text);
    loop_defer_schedule(&h->turn);
}

/* mprun makes cgroups here while mppmi initialises, if ranks have to wait for mppmi. */
static void begin_slow_parts(struct host *h)
{
    pid_t self[4];
    if (h->with.pmi)
        pmi_server_begin(h->with.pmi);
    own_processes(h, self);
    containment_find_place(&h->containment, &h->launch.step, h->launch.host_index, self,
                           begin_containment, h);
}

void host_prepare(struct host *h)
{
    struct error e;
    h->has_launch = true;
    h->state = HOST_PREPARING;
    if (make_parts(h, &e) < 0)
        step_end_cannot_run(&h->end, EXIT_CODE_MPRUN, e.text);
    else
        begin_slow_parts(h);
    fault_point("preparing");
    loop_defer_schedule(&h->turn);
}

bool host_is_prepared(const struct host *h)
{
    return h->containment.is_ready && (!h->with.pmi || h->with.pmi_env);
}

/* ---- READY ----------------------------------------------------------------------------------- */

static void send_ready(struct host *h)
{
    const struct step_containment *c = &h->containment;
    const struct placement *here = launch_here(&h->launch);
    const char *gpus = c->answer.gpus, *made[HOST_DIRECTORIES_MAX];
    char unchecked[400], outside[400];
    Mprun__Ready m = MPRUN__READY__INIT;
    struct packed_limits rank_limits, host_limits;
    ProtobufCBinaryData paths[PATHS_MAX], directories[HOST_DIRECTORIES_MAX];
    const char *const *list = NULL;
    size_t n = c->tree ? cgroup_tree_paths(c->tree, &list) : 0;
    for (size_t i = 0; i < n && i < PATHS_MAX; i++)
        paths[m.n_cgroup_paths++] = bytes_of(list[i]);
    m.cgroup_paths = paths;
    m.n_directories = host_directories_list(&h->directories, made);
    for (size_t i = 0; i < m.n_directories; i++)
        directories[i] = bytes_of(made[i]);
    m.directories = directories;
    m.tracking = c->level;
    m.tracking_reason = (char *)(uintptr_t)c->reason;
    m.cgroup_kind = (char *)(uintptr_t)(c->tree ? cgroup_tree_kind(c->tree) : "");
    limits_pack(&c->rank_limits, &rank_limits);
    limits_pack(&c->host_limits, &host_limits);
    m.rank_limits = &rank_limits.message;
    m.host_limits = &host_limits.message;
    m.bind_reason = (char *)(uintptr_t)h->binding.plan.reason;
    m.cores = cpus_count_cores(rank_binding_usable(&h->binding));
    AUTO_FREE char *threads = idset_format(rank_binding_usable(&h->binding));
    AUTO_FREE char *nodes = rank_binding_memory_nodes(&h->binding);
    m.threads = threads;
    if (nodes)
        m.memory_nodes = nodes;
    rank_gpus_sentence(&h->launch.step, here, gpus, GPUS_UNCHECKED, unchecked, sizeof(unchecked));
    rank_gpus_sentence(&h->launch.step, here, gpus, GPUS_OUTSIDE, outside, sizeof(outside));
    m.gpus = (char *)(uintptr_t)gpus;
    m.gpus_held = c->devices;
    m.gpus_why = (char *)(uintptr_t)c->why_no_devices;
    m.gpus_unchecked = unchecked;
    m.gpus_outside = outside;
    m.mprund_silent = (char *)(uintptr_t)containment_mprund_is_silent(c);
    uplink_send(&h->uplink, FRAME_READY, &m.base);
}

void host_prepare_finish(struct host *h)
{
    ranks_prepare(&h->ranks);
    send_ready(h);
    sampled_limits_begin(&h->limits);
}
