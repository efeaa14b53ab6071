/* SPDX-License-Identifier: BSD-3-Clause */
/* host-prepare.c - what is done between LAUNCH and the start of ranks; and READY, which tells mprun
 */
#include <errno.h>
#include <unistd.h>

#include "common/cpus.h"
#include "common/fault.h"
#include "common/loop.h"
#include "containment/step/tree.h"
#include "model/rank-end.h"
#include "starter/binding/rank-binding.h"
#include "starter/ending/kill-ladder.h"
#include "starter/host-directories.h"
#include "starter/host-private.h"
#include "starter/io/rank-io.h"
#include "starter/keeper/keeper-channel.h"
#include "starter/pmi/pmi-server.h"
#include "starter/preload/preload.h"
#include "starter/ranks/rank-gpus.h"
#include "starter/ranks/ranks.h"
#include "starter/step-end.h"
#include "wire/flow-control.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

enum { PATHS_MAX = 32 }; /* cgroup paths that READY names */

/* The host's name as ranks see it, once LAUNCH has come. */
static const char *host_name(const struct host *h)
{
    return h->launch.hosts[h->launch.host_index].host;
}

static void io_drained(void *arg)
{
    struct host *h = arg;
    loop_defer_schedule(&h->turn);
}

static int make_io(struct host *h, struct error *err)
{
    h->io = rank_io_create(h->with.loop, output_window(h->launch.nhosts), io_drained, h, err);
    if (!h->io)
        return -1;
    rank_io_set_link(h->io, h->uplink.link);
    return 0;
}

static int make_ranks(struct host *h, struct error *err)
{
    h->ranks = ranks_create(
        &(struct ranks_setup){
            .loop = h->with.loop,
            .reaper = h->with.reaper,
            .turn = &h->turn,
            .up = &h->uplink,
            .end = h->end,
            .pmi = h->pmi,
            .io = h->io,
            .containment = &h->containment,
            .launch = &h->launch,
        },
        err);
    rank_kill_ladder_set_ranks(h->ladder, h->ranks);
    return h->ranks ? 0 : -1;
}

static int make_directories(struct host *h, struct error *err)
{
    h->directories = host_directories_create(&h->launch, h->directory_name);
    if (!h->directories)
        return error_errno(err, ENOMEM, "make a directory for the ranks on %s", host_name(h));
    if (host_directories_make(h->directories, h->with.keeper_fd, err) < 0)
        return -1;
    return preload_install(h->preload, host_directories_main(h->directories), host_name(h),
                           (uint32_t)h->launch.step.napps, err);
}

static int bind_ranks(struct host *h, struct error *err)
{
    h->binding = rank_binding_create(&h->launch, &h->allowed, h->with.keeper_fd, err);
    return h->binding ? 0 : -1;
}

/* Cgroups are made while mppmi initialises. */
static void begin_slow_parts(struct host *h)
{
    struct error e;
    pid_t own = getpid();
    pid_t self[] = {own, h->with.keeper, h->pmi ? h->pmi->pid : own, h->launcher};
    if (h->pmi)
        pmi_server_begin(h->pmi, &h->launch, h->binding, host_directories_main(h->directories));
    int rc = containment_begin(&h->containment, &h->launch.step, h->launch.host_index,
                               rank_binding_usable(h->binding), self, h->launcher ? 4 : 3, &e);
    struct cgroup_tree *tree = h->containment.tree;
    const char *const *paths;
    size_t n = tree ? cgroup_tree_paths(tree, &paths) : 0;
    for (size_t i = 0; i < n; i++)
        keeper_tell(h->with.keeper_fd, KEEPER_CGROUP, paths[i]);
    if (rc < 0)
        step_end_cannot_run(h->end, EXIT_CODE_MPRUN, e.text);
}

void host_prepare(struct host *h)
{
    struct error e;
    h->has_launch = true;
    h->state = HOST_PREPARING;
    if (make_io(h, &e) < 0 || make_ranks(h, &e) < 0 || make_directories(h, &e) < 0 ||
        bind_ranks(h, &e) < 0) {
        step_end_cannot_run(h->end, EXIT_CODE_MPRUN, e.text);
    } else {
        ranks_set_place(h->ranks, h->binding, h->directories, h->preload);
        begin_slow_parts(h);
    }
    fault_point("preparing");
    loop_defer_schedule(&h->turn);
}

bool host_is_prepared(const struct host *h)
{
    return h->containment.is_ready && (!h->pmi || h->pmi->env);
}

/* ---- READY ----------------------------------------------------------------------------------- */

static void send_ready(struct host *h)
{
    const struct step_containment *c = &h->containment;
    const struct placement *here = &h->launch.hosts[h->launch.host_index];
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
    m.n_directories = host_directories_list(h->directories, made);
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
    m.bound = rank_binding_is_bound(h->binding);
    m.bind_reason = (char *)(uintptr_t)rank_binding_reason(h->binding);
    m.cores = cpus_count_cores(rank_binding_usable(h->binding));
    rank_gpus_sentence(&h->launch.step, here, gpus, GPUS_UNCHECKED, unchecked, sizeof(unchecked));
    rank_gpus_sentence(&h->launch.step, here, gpus, GPUS_OUTSIDE, outside, sizeof(outside));
    m.gpus_unchecked = unchecked;
    m.gpus_outside = outside;
    uplink_send(&h->uplink, FRAME_READY, &m.base);
}

int host_prepare_finish(struct host *h)
{
    struct error e;
    if (ranks_prepare(h->ranks, &e) < 0) {
        step_end_cannot_run(h->end, EXIT_CODE_MPRUN, e.text);
        return -1;
    }
    send_ready(h);
    return 0;
}
