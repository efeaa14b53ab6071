/* SPDX-License-Identifier: BSD-3-Clause */
/* One function per state looks at what has happened and returns the next state, or the same one.
 * Events change facts (a rank ended, the link died, mppmi is ready) and schedule a step; no event
 * acts on the state itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/path.h"
#include "common/step-directory.h"
#include "starter/cores.h"
#include "starter/keeper.h"
#include "starter/pmi-link.h"
#include "starter/preload.h"
#include "starter/rank-gpus.h"
#include "starter/worker.h"

enum { HOST_TMPDIR_MAX = 256 };
enum { OPEN_MPI_PATH_MAX = 60 }; /* what remains of a socket's 108 bytes for names MPIs add */

const char *host_state_text(enum host_state s)
{
    static const char *const text[HOST_STATE_COUNT] = {
        [HOST_STARTING] = "starting",   [HOST_CONNECTED] = "connected",
        [HOST_PREPARING] = "preparing", [HOST_LAUNCHING] = "launching",
        [HOST_RUNNING] = "running",     [HOST_ENDING] = "ending",
        [HOST_REPORTED] = "reported",   [HOST_CLEANED] = "cleaned",
    };
    return text[s];
}

/* ---- preparing ------------------------------------------------------------------------------- */

static int make_directory(struct worker *w, char *ret, size_t n, int *ret_fd, const char *base,
                          struct error *err)
{
    int base_len = (int)strnlen(base, OPEN_MPI_PATH_MAX + 1);
    while (base_len > 1 && base[base_len - 1] == '/')
        base_len--;
    int len = snprintf(ret, n, "%.*s/%s", base_len, base, w->directory_name);
    if (len < 0 || (size_t)len >= n || len > OPEN_MPI_PATH_MAX) {
        ret[0] = 0;
        return error_set(err, ENAMETOOLONG,
                         "use '%.200s' on %s: it is too long for a directory of sockets", base,
                         w->host_name);
    }
    keeper_tell(w->keeper_fd, KEEPER_DIRECTORY, ret);
    *ret_fd = path_make_private(ret, err);
    if (*ret_fd < 0) {
        ret[0] = 0;
        return error_context(err, "make a directory for the ranks on %s", w->host_name);
    }
    step_directory_lock(*ret_fd); /* as long as this process lives */
    return 0;
}

/* What follows "NAME=" in an entry that begins with `beginning`, which has both. */
static const char *variable(const struct worker *w, const char *beginning, const char *otherwise)
{
    for (char *const *e = w->launch.step.apps[0].envp; *e; e++)
        if (strncmp(*e, beginning, strlen(beginning)) == 0)
            return strchr(*e, '=') + 1;
    return otherwise;
}

/* The manager's directory for the job on this host, or NULL: the step's own is the ranks'. */
const char *host_machine_tmpdir(const struct worker *w)
{
    const char *own = getenv("TMPDIR");
    for (char *const *name = w->launch.step.host_env; name && *name; name++)
        if (strcmp(*name, "TMPDIR") == 0)
            return own && own[0] == '/' && strlen(own) < HOST_TMPDIR_MAX &&
                           access(own, W_OK | X_OK) == 0
                       ? own
                       : NULL;
    return NULL;
}

/* In TMPDIR where that can be: one that is too long, or that only mprun's host has, is no reason
 * not to run. */
static int make_main_directory(struct worker *w, struct error *err)
{
    const char *here = host_machine_tmpdir(w);
    const char *tmp = here ? here : variable(w, "TMPDIR=/", "/tmp");
    if (make_directory(w, w->directory, sizeof(w->directory), &w->directory_fd, tmp, err) == 0)
        return 0;
    if (strcmp(tmp, "/tmp") == 0)
        return -1;
    log_debug("%s; '/tmp' is used instead", err->text);
    return make_directory(w, w->directory, sizeof(w->directory), &w->directory_fd, "/tmp", err);
}

/* For a step within a step in the outer one's directory, which goes whatever happens to this one.
 */
static int make_shm_directory(struct worker *w, struct error *err)
{
    static const char outer[] = "OMPI_MCA_btl_vader_backing_directory=/dev/shm/mprun-";
    const char *base = variable(w, outer, "/dev/shm");
    if (make_directory(w, w->shm_directory, sizeof(w->shm_directory), &w->shm_fd, base, err) == 0)
        return 0;
    return make_directory(w, w->shm_directory, sizeof(w->shm_directory), &w->shm_fd, "/dev/shm",
                          err);
}

static int make_directories(struct worker *w, struct error *err)
{
    char ranks[160];
    struct error ignored;
    if (make_main_directory(w, err) < 0)
        return -1;
    snprintf(ranks, sizeof(ranks), "%s/t", w->directory);
    if (mkdir(ranks, 0700) < 0)
        return error_errno(err, errno, "make the directory '%s' for ranks on %s", ranks,
                           w->host_name);
    if (w->preload && preload_place(w, err) < 0)
        return -1;
    /* without shared memory MPIs have their own ways, slower ones */
    if ((w->launch.step.pmi & PMI_KIND_PMIX) && make_shm_directory(w, &ignored) < 0)
        log_warn("%s; Open MPI keeps its shared memory in '%s' instead", ignored.text,
                 w->directory);
    return 0;
}

static void contained(void *arg, const struct error *err)
{
    struct worker *w = arg;
    const char *const *paths;
    if (w->contain.tree) {
        size_t n = cgroup_tree_paths(w->contain.tree, &paths);
        for (size_t i = 0; i < n; i++)
            keeper_tell(w->keeper_fd, KEEPER_CGROUP, paths[i]);
    }
    if (err)
        worker_cannot_run(w, EXIT_CODE_MPRUN, err->text);
    host_machine_prepared(w);
}

static void io_drained(void *arg)
{
    host_machine_prepared(arg);
}

static int make_io(struct worker *w, struct error *err)
{
    w->io = rank_io_create(w->loop, output_window(w->launch.nhosts), io_drained, w, err);
    if (!w->io)
        return -1;
    rank_io_set_link(w->io, w->up);
    return 0;
}

static int prepare(struct worker *w, struct error *err)
{
    pid_t self[5] = {w->pid, w->keeper, w->pmi ? pmi_link_pid(w->pmi) : w->pid, w->launcher};
    if (make_io(w, err) < 0 || ranks_create(w, err) < 0 || make_directories(w, err) < 0 ||
        cores_choose(w, err) < 0)
        return -1;
    if (w->pmi)
        pmi_link_begin(w->pmi);
    /* cgroups are made while mppmi initialises */
    contain_begin(&w->contain, w->loop, &w->launch.step, w->launch.host_index, cores_here(w), self,
                  w->launcher ? 4 : 3, contained, w);
    return 0;
}

void host_machine_launch(struct worker *w)
{
    struct error e;
    w->have_launch = 1;
    w->host_name = w->launch.hosts[w->launch.host_index].host;
    w->state = HOST_PREPARING;
    if (prepare(w, &e) < 0)
        worker_cannot_run(w, EXIT_CODE_MPRUN, e.text);
    fault_point("preparing");
    host_machine_prepared(w);
}

void host_machine_prepared(struct worker *w)
{
    loop_defer_schedule(w->step);
}

/* What the user is told of GPUs; buffers of equal size. */
static void judge_gpus(struct worker *w, char *unchecked, char *outside, size_t n)
{
    const struct step *s = &w->launch.step;
    const struct placement *here = &w->launch.hosts[w->launch.host_index];
    const char *granted = contain_gpus(&w->contain);
    rank_gpus_sentence(s, here, granted, GPUS_UNCHECKED, unchecked, n);
    rank_gpus_sentence(s, here, granted, GPUS_OUTSIDE, outside, n);
}

static void send_ready(struct worker *w)
{
    char unchecked[400], outside[400];
    Mprun__Ready m = MPRUN__READY__INIT;
    struct packed_limits rank_limits, host_limits;
    ProtobufCBinaryData paths[32], directories[2];
    const char *const *list = NULL;
    size_t n = w->contain.tree ? cgroup_tree_paths(w->contain.tree, &list) : 0;
    for (size_t i = 0; i < n && i < 32; i++)
        paths[m.n_cgroup_paths++] = bytes_of(list[i]);
    m.cgroup_paths = paths;
    if (w->directory[0])
        directories[m.n_directories++] = bytes_of(w->directory);
    if (w->shm_directory[0])
        directories[m.n_directories++] = bytes_of(w->shm_directory);
    m.directories = directories;
    m.tracking = w->contain.level;
    m.tracking_reason = w->contain.reason;
    m.cgroup_kind =
        (char *)(uintptr_t)(w->contain.tree ? cgroup_tree_ops(w->contain.tree)->name : "");
    limits_pack(&w->contain.rank_limits, &rank_limits);
    limits_pack(&w->contain.host_limits, &host_limits);
    m.rank_limits = &rank_limits.message;
    m.host_limits = &host_limits.message;
    m.bound = w->binding.bound;
    m.bind_reason = w->binding.reason;
    m.cores = cpus_count_cores(cores_here(w));
    judge_gpus(w, unchecked, outside, sizeof(outside));
    m.gpus_unchecked = unchecked;
    m.gpus_outside = outside;
    if (w->up)
        link_send(w->up, FRAME_READY, &m.base);
}

static enum host_state preparing(struct worker *w)
{
    struct error e;
    if (ending_begun(w))
        return HOST_ENDING;
    if (!w->contain.done || (w->pmi && !pmi_link_ready(w->pmi)))
        return HOST_PREPARING;
    if (rank_exec_prepare(w, &e) < 0) {
        worker_cannot_run(w, EXIT_CODE_MPRUN, e.text);
        return HOST_ENDING;
    }
    send_ready(w);
    return HOST_LAUNCHING;
}

/* ---- running --------------------------------------------------------------------------------- */

static enum host_state launching(struct worker *w)
{
    if (w->stopped && !ending_begun(w))
        return HOST_LAUNCHING;
    if (ranks_start_some(w)) {
        loop_defer_schedule(w->step); /* the loop sees to everything else in between */
        return HOST_LAUNCHING;
    }
    return HOST_RUNNING;
}

static enum host_state running(struct worker *w)
{
    if (w->ranks.ended < w->ranks.n)
        return HOST_RUNNING;
    return HOST_ENDING;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static enum host_state ending(struct worker *w)
{
    preload_stop(w->preload);
    if (w->ranks.running > 0 || w->contain.active) /* what is being made has to be removed */
        return HOST_ENDING;
    ending_leftovers(w);
    if (!ending_nothing_left(w))
        return HOST_ENDING;
    if (w->pmi)
        pmi_link_end(w->pmi);
    if (w->io && w->up) {
        rank_io_abandon(w->io);
        if (!rank_io_idle(w->io))
            return HOST_ENDING;
    }
    if (w->pmi && !pmi_link_ended(w->pmi))
        return HOST_ENDING;
    ending_send_report(w);
    worker_fault_point(w, "reported");
    ending_clean(w);
    return HOST_REPORTED;
}

/* Other steps of this user that were killed, keeper and worker, have left theirs. */
static void sweep_around(const struct worker *w, const char *directory)
{
    char place[sizeof(w->directory)];
    snprintf(place, sizeof(place), "%s", directory);
    char *end = strrchr(place, '/');
    if (!w->have_launch || !end || end == place)
        return;
    *end = 0;
    step_directories_sweep(place, w->launch.step.id, DIRECTORY_OF_HOST);
}

static enum host_state reported(struct worker *w)
{
    if (!ending_cleaned(w))
        return HOST_REPORTED;
    ending_send_cleaned(w);
    if (w->up)
        link_flush(w->up);
    sweep_around(w, w->directory);
    sweep_around(w, w->shm_directory[0] ? w->shm_directory : "/dev/shm/");
    worker_fault_point(w, "cleaned");
    if (!w->up)
        worker_exit(w, w->exit_code);
    return HOST_CLEANED;
}

static enum host_state stay(struct worker *w)
{
    if (w->state < HOST_PREPARING && ending_begun(w))
        return HOST_ENDING;
    return w->state;
}

void host_machine_step(struct worker *w)
{
    static enum host_state (*const due[HOST_STATE_COUNT])(struct worker *) = {
        [HOST_STARTING] = stay,       [HOST_CONNECTED] = stay,  [HOST_PREPARING] = preparing,
        [HOST_LAUNCHING] = launching, [HOST_RUNNING] = running, [HOST_ENDING] = ending,
        [HOST_REPORTED] = reported,   [HOST_CLEANED] = stay,
    };
    for (;;) {
        enum host_state before = w->state, next = due[before](w);
        if (next == before || w->state != before)
            return;
        w->state = next;
        log_debug("host %s: %s", w->hostname, host_state_text(next));
        if (next == HOST_RUNNING)
            fault_point("running");
    }
}
