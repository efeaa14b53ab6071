/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/fault.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/login-session.h"
#include "common/path.h"
#include "common/proc.h"
#include "starter/core-ledger.h"
#include "starter/errands.h"
#include "starter/orphan.h"
#include "starter/pmi-link.h"
#include "starter/preload.h"
#include "starter/present.h"
#include "starter/tree.h"
#include "wire/address.h"
#include "wire/handshake.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#define CONNECT_SECONDS  30.0
#define FALLBACK_SECONDS 10.0 /* the same where there is another way */
#define LATER_SECONDS    8    /* who is above gives up first, and says who is lost */
#define ASK_SECONDS      30   /* for mprun to allow that */

void worker_exit(struct worker *w, int code)
{
    w->exit_code = code;
    loop_stop(w->loop);
}

void worker_fault_point(struct worker *w, const char *phase)
{
    if (FAULT_BUILD && w->up)
        link_flush(w->up);
    fault_point(phase);
}

void worker_cannot_run(struct worker *w, int exit_code, const char *text)
{
    Mprun__CannotRun m = MPRUN__CANNOT_RUN__INIT;
    m.exit_code = (uint32_t)exit_code;
    m.text = (char *)(uintptr_t)text;
    if (w->up)
        link_send(w->up, FRAME_CANNOT_RUN, &m.base);
    else
        log_error("%s", text);
    ending_kill(w, w->have_launch ? w->launch.step.kill_grace : 0, text);
}

/* ---- the link -------------------------------------------------------------------------------- */

static void log_to_launcher(void *arg, enum log_level level, const char *text)
{
    struct worker *w = arg;
    Mprun__Log m = MPRUN__LOG__INIT;
    m.level = level;
    m.text = (char *)(uintptr_t)text;
    link_send(w->up, FRAME_LOG, &m.base);
}

static void send_hello(struct worker *w)
{
    Mprun__Hello m = MPRUN__HELLO__INIT;
    struct sysinfo si;
    char session[80];
    AUTO_FREE char *allowed = idset_format(&w->allowed);
    m.protocol = PROTOCOL_VERSION;
    m.version = PACKAGE_VERSION;
    m.host_id = w->start.host_id;
    m.hostname = bytes_of(w->hostname);
    m.worker_pid = (uint64_t)getpid();
    m.keeper_pid = (uint64_t)w->keeper;
    m.uid = geteuid();
    m.boot_id = (char *)(uintptr_t)proc_boot_id();
    m.allowed_threads = allowed ? allowed : (char *)(uintptr_t) "";
    m.allowed_cores = cpus_count_cores(&w->allowed);
    if (sysinfo(&si) == 0)
        m.memory = (uint64_t)si.totalram * si.mem_unit;
    m.why_stdio = w->why_stdio;
    login_session_find(session, sizeof(session));
    m.login_session = session;
    m.tracking = w->contain.level;
    m.tracking_reason = w->contain.reason;
    link_send(w->up, FRAME_HELLO, &m.base);
}

static void probed(void *arg, const struct error *err)
{
    struct worker *w = arg;
    if (w->up)
        send_hello(w);
}

static void say_hello(struct worker *w)
{
    const pid_t self[] = {w->pid, w->keeper};
    if (w->start.flags & PREAMBLE_EXPLAIN)
        contain_probe(&w->contain, w->loop, self, sizeof(self) / sizeof(self[0]), probed, w);
    else
        send_hello(w);
}

/* Which cores are the job's is known from here on. */
static void job_asked(void *arg)
{
    struct worker *w = arg;
    struct error e;
    if (cpus_allowed(&w->allowed, &e) < 0)
        log_warn("on %s: %s", w->hostname, e.text);
    if (w->hello_waits && w->up)
        say_hello(w);
    w->hello_waits = 0;
}

static int up_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct worker *w = arg;
    log_set_sink(log_to_launcher, w);
    w->hello_waits = w->contain.asked.state == ASKED_NOW;
    if (!w->hello_waits)
        say_hello(w);
    return 0;
}

/* mprun holds a lock on its directory as long as it lives (launcher/home.c). */
static int is_locked(const char *path)
{
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0;
}

/* Its sockets are of no use to anybody; all hosts of this machine may try the same. Addresses are
 * foreign input: nothing is removed but a directory of a step of ours. Who has lost a host above
 * only does not know whether mprun has gone. */
static void remove_launcher_home(struct worker *w, int mprun_has_gone)
{
    char path[PREAMBLE_ADDRESSES];
    struct stat st;
    struct error e;
    if (!address_home(w->start.addresses, path, sizeof(path)))
        return;
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name + 1, "mprun-", 6) != 0 || lstat(path, &st) < 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (!mprun_has_gone && is_locked(path)))
        return;
    if (path_remove_tree(path, &e) < 0)
        log_warn("on %s: %s", w->hostname, e.text);
}

static void no_launcher(struct worker *w, const struct error *why, int mprun_has_gone, double grace)
{
    char text[1200];
    w->exit_code = EXIT_CODE_MPRUN;
    if (w->state == HOST_STARTING)
        snprintf(text, sizeof(text), "on %s: no link to mprun: %s", w->hostname, why->text);
    else
        snprintf(text, sizeof(text), "on %s: the link to mprun is gone (%s); %s", w->hostname,
                 why->text, w->state < HOST_REPORTED ? "ending its ranks" : "its ranks have ended");
    log_error("%s", text);
    remove_launcher_home(w, mprun_has_gone);
    tree_cut(w);
    if (w->io)
        rank_io_set_link(w->io, NULL);
    ending_kill(w, grace, text);
}

void worker_give_up(struct worker *w, const struct error *why, int mprun_has_gone, double grace)
{
    if (!w->up) {
        ending_kill(w, grace, why->text);
        return;
    }
    log_set_sink(NULL, NULL);
    link_destroy(w->up);
    w->up = NULL;
    no_launcher(w, why, mprun_has_gone, grace);
    if (w->state == HOST_CLEANED)
        worker_exit(w, w->exit_code);
    loop_defer_schedule(w->step);
}

static void up_closed(void *arg, struct link *l, const struct error *why)
{
    struct worker *w = arg;
    struct error copy = *why;
    if (l == w->first) { /* mprun has seen that the host above is reached */
        w->first = NULL;
        link_destroy(l);
        return;
    }
    worker_give_up(w, &copy, w->orphan == NULL, ORPHAN_KILL_SECONDS);
}

static void up_lost(void *arg, struct link *l, const struct error *why)
{
    orphan_link_lost(((struct worker *)arg)->orphan);
}

static void up_resumed(void *arg, struct link *l, double seconds)
{
    orphan_link_back(((struct worker *)arg)->orphan);
}

static void take_launch(struct worker *w, const uint8_t *p, size_t n)
{
    struct error e;
    if (w->have_launch || ending_begun(w))
        return;
    if (launch_unpack(p, n, w->start.host_id, &w->launch, &e) < 0) {
        worker_cannot_run(w, EXIT_CODE_MPRUN, e.text);
        return;
    }
    host_machine_launch(w);
}

static int take_place(struct worker *w, const uint8_t *p, size_t n)
{
    if (w->state == HOST_STARTING)
        w->state = HOST_CONNECTED;
    fault_point("connected");
    return tree_take_place(w, p, n);
}

static void all_released(struct worker *w)
{
    worker_exit(w, 0);
}

static int take_kill(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__Kill *m = mprun__kill__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m)
        ending_kill(w, seconds_unpack(m->grace), m->reason);
    mprun__kill__free_unpacked(m, NULL);
    return readable;
}

/* Those that are to be started wait as well. The PMI server, which serves this process, may have
 * been stopped by a manager. */
static void signal_ranks(struct worker *w, int signo)
{
    if (signo == SIGSTOP && !ending_begun(w)) {
        w->stopped = 1;
        if (w->pmi && pmi_link_pid(w->pmi) > 1)
            kill(pmi_link_pid(w->pmi), SIGCONT);
    } else if (signo == SIGCONT) {
        w->stopped = 0;
    }
    ending_signal(w, signo);
}

static int take_signal(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__Signal *m = mprun__signal__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    int have_it = m && m->manager && w->launcher;
    if (m && m->signo > 0 && m->signo < NSIG && !have_it)
        signal_ranks(w, m->signo == SIGTSTP ? SIGSTOP : (int)m->signo);
    mprun__signal__free_unpacked(m, NULL);
    return readable;
}

static int take_window(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__Window *m = mprun__window__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct tty_size size = window_unpack(m);
    if (w->io)
        rank_io_resize(w->io, &size);
    mprun__window__free_unpacked(m, NULL);
    return 0;
}

static int take_output_credit(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__OutputCredit *m = mprun__output_credit__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m && w->io)
        rank_io_output_credit(w->io, m->stream, m->bytes);
    mprun__output_credit__free_unpacked(m, NULL);
    return readable;
}

static int take_output_closed(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__OutputClosed *m = mprun__output_closed__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m && w->io)
        rank_io_output_closed(w->io, m->stream);
    mprun__output_closed__free_unpacked(m, NULL);
    return readable;
}

static void take_input(struct worker *w, const uint8_t *p, size_t n)
{
    struct bulk_header h;
    struct error e;
    if (!w->io)
        return;
    if (bulk_header_unpack(p, n, &h, &e) < 0 ||
        rank_io_input(w->io, h.name, p + BULK_HEADER, n - BULK_HEADER, &e) < 0)
        worker_cannot_run(w, EXIT_CODE_MPRUN, e.text);
}

static int up_message(struct worker *w, struct link *l, enum frame_type type, const uint8_t *p,
                      size_t n)
{
    switch (type) {
    case FRAME_PLACE:
        return take_place(w, p, n);
    case FRAME_PRELOAD_OFFER:
        return preload_offer(w, p, n);
    case FRAME_LAUNCH:
        take_launch(w, p, n);
        return 0;
    case FRAME_KILL:
        return take_kill(w, p, n);
    case FRAME_SIGNAL:
        return take_signal(w, p, n);
    case FRAME_WINDOW:
        return take_window(w, p, n);
    case FRAME_PRESENT_ASK:
        return present_asked(w, p, n);
    case FRAME_OUTPUT_CREDIT:
        return take_output_credit(w, p, n);
    case FRAME_OUTPUT_CLOSED:
        return take_output_closed(w, p, n);
    case FRAME_INPUT:
        take_input(w, p, n);
        return 0;
    case FRAME_COLLECTED:
    case FRAME_MODEX_REQUEST:
    case FRAME_MODEX_REPLY:
        if (w->pmi)
            pmi_link_pass_down(w->pmi, type, p, n);
        return 0;
    case FRAME_ERRAND:
        return errands_take(w, p, n);
    case FRAME_RELEASE:
        fault_point("released");
        if (w->state == HOST_CLEANED || w->state < HOST_PREPARING)
            tree_await_end(w, all_released);
        return 0;
    case FRAME_PING:
        link_send_bytes(l, FRAME_PONG, NULL, 0);
        return 0;
    case FRAME_PONG:
        return orphan_answered(w->orphan);
    default:
        return -1;
    }
}

static void up_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct worker *w = arg;
    char text[400];
    orphan_heard(w->orphan);
    if (type == FRAME_PRELOAD_DATA) { /* not everybody below wants it */
        preload_data(w, p, n);
        return;
    }
    if (!tree_pass_down(w, link_frame_host(l), type, p, n))
        return;
    if (up_message(w, l, type, p, n) < 0) {
        snprintf(text, sizeof(text), "on %s: protocol error: %s from mprun is not understood",
                 w->hostname, frame_type_text(type));
        worker_cannot_run(w, EXIT_CODE_MPRUN, text);
    }
    loop_defer_schedule(w->step);
}

static void up_writable(void *arg, struct link *l)
{
    struct worker *w = arg;
    if (w->io)
        rank_io_writable(w->io);
    loop_defer_schedule(w->step);
}

static const struct link_events up_events = {
    .opened = up_opened,
    .frame = up_frame,
    .writable = up_writable,
    .lost = up_lost,
    .resumed = up_resumed,
    .closed = up_closed,
};

static struct link_options link_options(const struct worker *w)
{
    return (struct link_options){
        .role = LINK_CONNECTOR,
        .key = w->start.key,
        .host_id = w->start.host_id,
        .security = preamble_security(w->start.flags),
        .resume_seconds = w->start.link_grace ? w->start.link_grace + LATER_SECONDS : 0,
        .addresses = w->start.addresses,
    };
}

/* ---- the host above -------------------------------------------------------------------------- */

/* From now on everything goes this way; what mprun has sent on the first link still comes. */
static int above_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct worker *w = arg;
    w->first = w->up;
    w->up = l;
    w->joining = NULL;
    link_set_events(l, &up_events, w);
    tree_link_opened(w);
    return 0;
}

static void above_closed(void *arg, struct link *l, const struct error *why)
{
    struct worker *w = arg;
    w->joining = NULL;
    if (w->up)
        tree_link_failed(w, why->text);
    link_destroy(l);
}

static void above_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static const struct link_events above_events = {
    .opened = above_opened, .frame = above_frame, .closed = above_closed};

int worker_connect_above(struct worker *w, const char *addresses, double timeout, struct error *err)
{
    struct link_options o = link_options(w);
    o.addresses = addresses;
    int fd = address_connect(addresses, timeout, err);
    if (fd < 0)
        return -1;
    w->joining = link_create(w->loop, fd, fd, &o, "the host above", &above_events, w, err);
    return w->joining ? 0 : -1;
}

/* ---- mprun ----------------------------------------------------------------------------------- */

/* Why the start channel has to do is said as soon as there is a link. */
static int ask_for_start_channel(struct worker *w, const struct error *why)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char answer;
    if (fd_write_all(STDOUT_FILENO, PREAMBLE_ASK, strlen(PREAMBLE_ASK)) < 0 ||
        poll(&p, 1, ASK_SECONDS * 1000) != 1 || read(STDIN_FILENO, &answer, 1) != 1 ||
        answer != PREAMBLE_YES[0])
        return -1;
    w->start.flags |= PREAMBLE_STDIO;
    snprintf(w->why_stdio, sizeof(w->why_stdio), "%s", why->text);
    return 0;
}

static int connect_by_address(struct worker *w, struct error *err)
{
    int fallback = (w->start.flags & PREAMBLE_FALLBACK) != 0;
    int fd =
        address_connect(w->start.addresses, fallback ? FALLBACK_SECONDS : CONNECT_SECONDS, err);
    if (fd >= 0) {
        address_own(fd, w->own_address, sizeof(w->own_address));
        return fd;
    }
    if (!fallback || ask_for_start_channel(w, err) < 0)
        remove_launcher_home(w, 1);
    return -1;
}

static int connect_up(struct worker *w, struct error *err)
{
    int in = -1, out;
    if (!(w->start.flags & PREAMBLE_STDIO))
        in = out = connect_by_address(w, err);
    if (w->start.flags & PREAMBLE_STDIO) {
        in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    }
    if (in < 0)
        return -1;
    struct link_options o = link_options(w);
    if (w->start.flags & PREAMBLE_STDIO)
        o.security = LINK_PLAIN; /* the start channel's own business */
    w->up = link_create(w->loop, in, out, &o, "mprun", &up_events, w, err);
    return w->up ? 0 : -1;
}

/* ---- other events ---------------------------------------------------------------------------- */

static void add_time(struct timeval *sum, struct timeval t)
{
    timeradd(sum, &t, sum);
}

static void orphan_reaped(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct worker *w = arg;
    add_time(&w->orphans.ru_utime, usage->ru_utime);
    add_time(&w->orphans.ru_stime, usage->ru_stime);
    if (usage->ru_maxrss > w->orphans.ru_maxrss)
        w->orphans.ru_maxrss = usage->ru_maxrss;
    w->norphans++;
}

static void on_signal(void *arg, int signo)
{
    struct worker *w = arg;
    char text[256];
    if (signo == SIGCHLD) {
        reaper_collect(w->reaper);
    } else if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT) {
        snprintf(text, sizeof(text), "mpstarter on %s received SIG%s; ending its ranks",
                 w->hostname, sigabbrev_np(signo));
        worker_cannot_run(w, EXIT_CODE_SIGNAL + signo, text);
    }
    loop_defer_schedule(w->step);
}

static void keeper_readable(void *arg, int fd, unsigned events)
{
    struct worker *w = arg;
    char text[256];
    if (errands_keeper_readable(w))
        return;
    loop_io_destroy(w->keeper_io);
    w->keeper_io = NULL;
    if (w->state >= HOST_ENDING) { /* who is left removes what was made */
        log_debug("on %s: mpstarter's keeper (pid %d) has died", w->hostname, (int)w->keeper);
        return;
    }
    snprintf(text, sizeof(text), "on %s: mpstarter's keeper (pid %d) has died; ending its ranks",
             w->hostname, (int)w->keeper);
    worker_cannot_run(w, EXIT_CODE_MPRUN, text);
    w->exit_code = EXIT_CODE_MPRUN;
}

static void take_step(void *arg)
{
    host_machine_step(arg);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void prepare_process(void)
{
    struct rlimit files;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* three pipes a rank */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int watch_signals(struct worker *w, struct error *err)
{
    static const int watched[] = {SIGCHLD, SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGALRM, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
        sigaddset(&set, watched[i]);
    return loop_signals(w->loop, &set, on_signal, w, err);
}

static int worker_init(struct worker *w, struct error *err)
{
    w->loop = loop_create(err);
    w->reaper = reaper_create(orphan_reaped, w);
    if (!w->loop || !w->reaper || handshake_library_init(err) < 0 || watch_signals(w, err) < 0)
        return -1;
    w->ending = ending_create(w);
    w->step = loop_defer_create(w->loop, take_step, w);
    if (!w->ending || !w->step)
        return error_errno(err, ENOMEM, "prepare the starter");
    w->keeper_io = loop_io_create(w->loop, w->keeper_fd, LOOP_READ, keeper_readable, w);
    if (!w->keeper_io)
        return error_errno(err, ENOMEM, "watch the keeper");
    return cpus_allowed(&w->allowed, err);
}

/* mppmi first of all: its start-up overlaps with everything else. */
static int worker_start(struct worker *w, struct error *err)
{
    if (w->start.flags & PREAMBLE_PMI && !(w->pmi = pmi_link_create(w, err)))
        return -1;
    contain_ask(&w->contain, w->loop, job_asked, w); /* while mprun is being reached */
    fault_point("starting");
    return connect_up(w, err);
}

static void worker_free(struct worker *w)
{
    log_set_sink(NULL, NULL);
    tree_destroy(w);
    link_destroy(w->up);
    link_destroy(w->first);
    link_destroy(w->joining);
    orphan_destroy(w->orphan);
    rank_io_destroy(w->io);
    pmi_link_destroy(w->pmi);
    preload_destroy(w->preload);
    ranks_destroy(w);
    ending_destroy(w->ending);
    errands_destroy(w);
    plan_binding_free(&w->binding);
    core_ledger_leave(NULL, w->cores_fd); /* the keeper sweeps, however this process ends */
    topology_destroy(w->topology);
    if (w->contain.tree)
        cgroup_tree_destroy(w->contain.tree);
    launch_free(&w->launch);
    sodium_memzero(w->start.key, sizeof(w->start.key));
    idset_free(&w->allowed);
    loop_defer_destroy(w->step);
    loop_io_destroy(w->keeper_io);
    reaper_destroy(w->reaper);
    loop_destroy(w->loop);
}

int worker_run(pid_t keeper, int keeper_fd, struct preamble *start, const char *hostname)
{
    struct worker w = {
        .start = *start,
        .pid = getpid(),
        .keeper = keeper,
        .keeper_fd = keeper_fd,
        .cores_fd = -1,
    };
    struct error e = {0};
    explicit_bzero(start->key, sizeof(start->key));
    host_directory_name(w.directory_name, w.start.key, w.start.host_id);
    snprintf(w.hostname, sizeof(w.hostname), "%s", hostname);
    w.host_name = w.hostname;
    if (start->flags & PREAMBLE_SUBREAPER)
        w.launcher = (pid_t)start->launcher;
    fault_register("worker", w.pid);
    fault_register("keeper", keeper);
    fault_host(w.start.host_id);
    prepare_process();
    if (worker_init(&w, &e) < 0 || worker_start(&w, &e) < 0) {
        log_error("on %s: %s", hostname, e.text);
        w.exit_code = EXIT_CODE_MPRUN;
    } else {
        loop_run(w.loop);
        if (w.up)
            link_flush(w.up);
    }
    int code = w.exit_code;
    worker_free(&w);
    return code;
}
