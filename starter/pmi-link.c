/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/pmi-link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/fault.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/path.h"
#include "common/spawn.h"
#include "starter/tree.h"
#include "starter/worker.h"

extern char **environ;

enum {
    ANSWER_SECONDS = 10, /* for an answer, or the end, of a server that has nothing else to do */
    READY_SECONDS = 60,  /* for its start on a machine that is busy */
    CONNECT_SECONDS = 2, /* for a place in the queue of a server that has thousands waiting there */
    SPACE_NEEDED = 1 << 20, /* bytes of files of a PMIx server */
    PMI1_HELLO = 12,        /* world, rank and incarnation, little endian */
};

struct pmi_link {
    struct worker *worker;
    pid_t pid; /* 0: has ended */
    struct link *link;
    int ending;
    int begun;                /* it was told of the world, and answers with READY */
    unsigned asked;           /* PMI_GONE without an answer */
    struct loop_timer *watch; /* ticks while an answer is due */
    unsigned silent;          /* ticks without a word */
    int killed;               /* by us, because it did not answer */
    int refused;              /* a rank's connection: it is about to end */
    int joined;               /* a rank has connected, and the launcher knows */
    char **env;
    struct sockaddr_un pmi1; /* sun_path "": PMI-1 is not served */
    struct rusage usage;
    struct loop_io *text_io; /* its stderr */
    int text_fd;
    char text[1024];
    size_t ntext;
};

/* ---- what it writes on its standard error: lines of the step's log --------------------------- */

/* Once ranks are being killed, the PMIx library is surprised at how their connections end: that is
 * no news. Its lines begin with "[host:pid]", those of mppmi itself do not. */
static void say_line(struct pmi_link *p)
{
    const char *host = p->worker->host_name ? p->worker->host_name : "";
    int expected = p->text[0] == '[' && ending_begun(p->worker);
    p->text[p->ntext] = 0;
    if (p->ntext)
        log_msg(expected ? LOG_DEBUG : LOG_WARN, "mppmi on %s: %s", host, p->text);
    p->ntext = 0;
}

static void text_ready(void *arg, int fd, unsigned events)
{
    struct pmi_link *p = arg;
    char buf[1024];
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n <= 0) {
        say_line(p);
        loop_io_destroy(p->text_io);
        p->text_io = NULL;
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (buf[i] == '\n' || p->ntext == sizeof(p->text) - 1)
            say_line(p);
        if (buf[i] != '\n')
            p->text[p->ntext++] = buf[i];
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void free_env(struct pmi_link *p)
{
    for (size_t i = 0; p->env && p->env[i]; i++)
        free(p->env[i]);
    free(p->env);
    p->env = NULL;
}

/* An answer is due. Seconds are counted one by one: when all of us were stopped for a while, that
 * is one second, and the server has its time as well. */
static void expect_answer(struct pmi_link *p)
{
    p->silent = 0;
    if (p->watch && !loop_timer_active(p->watch))
        loop_timer_start(p->watch, 1, 1);
}

static void answer_due(void *arg)
{
    struct pmi_link *p = arg;
    int starting = p->begun && !p->env;
    int due = p->asked || p->ending || p->refused || !p->link;
    if (p->pid <= 0 || (!starting && !due)) {
        loop_timer_stop(p->watch);
        return;
    }
    if (++p->silent < (due ? ANSWER_SECONDS : READY_SECONDS))
        return;
    loop_timer_stop(p->watch);
    pmi_link_kill(p);
}

static void take_ready(struct pmi_link *p, const uint8_t *payload, size_t n)
{
    Mprun__PmiReady *m = mprun__pmi_ready__unpack(NULL, n, payload);
    if (!m)
        return;
    free_env(p);
    p->env = calloc(m->n_env + 1, sizeof(*p->env));
    for (size_t i = 0, k = 0; p->env && i < m->n_env; i++)
        if ((p->env[k] = bytes_dup(&m->env[i])))
            k++;
    if (m->pmi1_socket.len > 0 && m->pmi1_socket.len < sizeof(p->pmi1.sun_path)) {
        p->pmi1.sun_family = AF_UNIX;
        memcpy(p->pmi1.sun_path, m->pmi1_socket.data, m->pmi1_socket.len);
    }
    mprun__pmi_ready__free_unpacked(m, NULL);
    host_machine_prepared(p->worker);
}

/* The PMIx library says "ERROR" where its files do not fit. */
static void explain_space(const char *directory, char *text, size_t size)
{
    struct statvfs fs;
    if (statvfs(directory, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < SPACE_NEEDED)
        snprintf(text, size, "; there is no space left where '%s' is (TMPDIR)", directory);
}

static void take_failed(struct pmi_link *p, const uint8_t *payload, size_t n)
{
    Mprun__PmiFailed *m = mprun__pmi_failed__unpack(NULL, n, payload);
    char text[1024], space[200] = "";
    explain_space(p->worker->directory, space, sizeof(space));
    snprintf(text, sizeof(text), "the PMI server on %s cannot serve: %s%s", p->worker->host_name,
             m ? m->text : "unreadable message", space);
    mprun__pmi_failed__free_unpacked(m, NULL);
    worker_cannot_run(p->worker, EXIT_CODE_MPRUN, text);
}

static void take_client(struct pmi_link *p, const uint8_t *payload, size_t n)
{
    Mprun__PmiClient *m = mprun__pmi_client__unpack(NULL, n, payload);
    if (m)
        ranks_pmi_client(p->worker, rank_name_unpack(m->name), m->connected);
    if (m && !p->joined && p->worker->up) {
        p->joined = 1;
        link_send_bytes(p->worker->up, FRAME_PMI_CLIENT, payload, n);
    }
    mprun__pmi_client__free_unpacked(m, NULL);
}

static void take_gone(struct pmi_link *p, const uint8_t *payload, size_t n)
{
    Mprun__PmiGone *m = mprun__pmi_gone__unpack(NULL, n, payload);
    if (p->asked)
        p->asked--;
    if (m)
        ranks_pmi_gone(p->worker, rank_name_unpack(m->name));
    mprun__pmi_gone__free_unpacked(m, NULL);
}

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *payload, size_t n)
{
    struct pmi_link *p = arg;
    p->silent = 0;
    switch (type) {
    case FRAME_PMI_READY:
        take_ready(p, payload, n);
        break;
    case FRAME_PMI_FAILED:
        take_failed(p, payload, n);
        break;
    case FRAME_PMI_CLIENT:
        take_client(p, payload, n);
        break;
    case FRAME_PMI_GONE:
        take_gone(p, payload, n);
        break;
    case FRAME_COLLECT:
        tree_collect(p->worker, payload, n);
        break;
    case FRAME_MODEX_REQUEST:
    case FRAME_MODEX_REPLY:
    case FRAME_ABORTED:
        if (p->worker->up) /* the launcher's business */
            link_send_bytes(p->worker->up, type, payload, n);
        break;
    default:
        log_warn("mppmi sent an unexpected %s", frame_type_text(type));
    }
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    struct pmi_link *p = arg;
    link_destroy(p->link);
    p->link = NULL; /* its end is told by its exit status */
    expect_answer(p);
}

static const struct link_events link_events = {.frame = frame, .closed = closed};

/* ---- life ------------------------------------------------------------------------------------ */

static void server_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct pmi_link *p = arg;
    struct worker *w = p->worker;
    char text[512], how[128];
    /* a step that is over does not fail because of its server; nobody asks it any more */
    int over = p->ending || (w->ranks.n > 0 && w->ranks.ended == w->ranks.n);
    int harmless = (over && !p->refused) || (p->killed && ending_begun(w));
    fault_register("mppmi", 0);
    if (p->link)
        link_read_rest(p->link); /* it may have said why */
    p->pid = 0;
    p->usage = *usage;
    if (!harmless) {
        if (p->killed)
            snprintf(how, sizeof(how), "did not answer and was killed");
        else if (WIFSIGNALED(status))
            snprintf(how, sizeof(how), "was killed by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
        else
            snprintf(how, sizeof(how), "ended with code %d", WEXITSTATUS(status));
        snprintf(text, sizeof(text), "the PMI server (mppmi, pid %d) on %s %s; ending the step",
                 (int)pid, w->host_name ? w->host_name : w->hostname, how);
        worker_cannot_run(w, EXIT_CODE_MPRUN, text);
    }
    for (uint32_t i = 0; i < w->ranks.n; i++) /* nobody can be asked any more */
        ranks_pmi_gone(w, w->ranks.all[i].name);
    loop_defer_schedule(w->step);
}

static int spawn_server(struct pmi_link *p, const char *path, int fd, int text_fd,
                        struct error *err)
{
    char number[16];
    char *argv[] = {"mppmi", "--fd", number, NULL};
    struct spawn s;
    snprintf(number, sizeof(number), "%d", fd);
    spawn_init(&s);
    s.path = path;
    s.argv = argv;
    s.envp = environ;
    s.fds[2] = text_fd;
    s.keep_fds = &fd;
    s.nkeep_fds = 1;
    s.parent_death_signal = SIGKILL;
    p->pid = spawn_process(&s, NULL, err);
    if (p->pid < 0)
        return -1;
    fault_register("mppmi", p->pid);
    return reaper_add(p->worker->reaper, p->pid, server_ended, p);
}

struct pmi_link *pmi_link_create(struct worker *w, struct error *err)
{
    static const char *const beside[] = {"mppmi", "../pmix-server/mppmi", NULL};
    struct link_options trusted = {.role = LINK_TRUSTED};
    AUTO_CLOSE int theirs = -1;
    AUTO_CLOSE int text_write = -1;
    int pair[2], text[2];
    AUTO_FREE char *path = path_find_helper(beside, PKGLIBEXECDIR "/mppmi", err);
    struct pmi_link *p = calloc(1, sizeof(*p));
    if (!path || !p) {
        if (path)
            error_errno(err, ENOMEM, "start the PMI server");
        free(p);
        return NULL;
    }
    p->worker = w;
    p->text_fd = -1;
    if (pipe2(text, O_CLOEXEC) < 0) {
        error_errno(err, errno, "connect to the PMI server");
        free(p);
        return NULL;
    }
    text_write = text[1];
    p->text_fd = text[0];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        error_errno(err, errno, "connect to the PMI server");
        pmi_link_destroy(p);
        return NULL;
    }
    theirs = pair[1];
    p->text_io = loop_io_create(w->loop, p->text_fd, LOOP_READ, text_ready, p);
    p->watch = loop_timer_create(w->loop, answer_due, p);
    p->link = link_create(w->loop, pair[0], pair[0], &trusted, "mppmi", &link_events, p, err);
    if (p->link && (!p->text_io || !p->watch))
        error_errno(err, ENOMEM, "watch its messages");
    if (!p->link || !p->text_io || !p->watch ||
        spawn_server(p, path, theirs, text_write, err) < 0) {
        error_context(err, "start the PMI server");
        pmi_link_destroy(p);
        return NULL;
    }
    return p;
}

void pmi_link_destroy(struct pmi_link *p)
{
    if (!p)
        return;
    if (p->pid > 0)
        reaper_remove(p->worker->reaper, p->pid);
    link_destroy(p->link);
    loop_io_destroy(p->text_io);
    loop_timer_destroy(p->watch);
    if (p->text_fd >= 0)
        close(p->text_fd);
    free_env(p);
    free(p);
}

pid_t pmi_link_pid(const struct pmi_link *p)
{
    return p->pid;
}

static void send_init(struct pmi_link *p)
{
    struct worker *w = p->worker;
    Mprun__PmiInit m = MPRUN__PMI_INIT__INIT;
    char directory[160];
    size_t n = 0;
    snprintf(directory, sizeof(directory), "%s/p", w->directory);
    mkdir(directory, 0700);
    m.directory = bytes_of(directory);
    m.hostname = bytes_of(w->host_name);
    if (w->topology) {
        const char *xml = topology_xml(w->topology, &n);
        m.topology_xml =
            (ProtobufCBinaryData){.len = xml ? n : 0, .data = (uint8_t *)(uintptr_t)xml};
    }
    link_send(p->link, FRAME_PMI_INIT, &m.base);
}

static void pack_hosts(const struct launch *l, Mprun__Placement *hosts, Mprun__Placement **list)
{
    for (size_t i = 0; i < l->nhosts; i++) {
        mprun__placement__init(&hosts[i]);
        hosts[i].host = bytes_of(l->hosts[i].host);
        hosts[i].first_rank = l->hosts[i].first_rank;
        hosts[i].count = l->hosts[i].count;
        list[i] = &hosts[i];
    }
}

static void pack_apps(const struct step *s, Mprun__App *apps, Mprun__App **list,
                      ProtobufCBinaryData *argv0)
{
    for (size_t i = 0; i < s->napps; i++) {
        mprun__app__init(&apps[i]);
        argv0[i] = bytes_of(s->apps[i].argv[0]);
        apps[i].n_argv = 1;
        apps[i].argv = &argv0[i];
        apps[i].directory = bytes_of(s->apps[i].directory);
        apps[i].first_rank = s->apps[i].first_rank;
        apps[i].count = s->apps[i].count;
        list[i] = &apps[i];
    }
}

static void send_world(struct pmi_link *p)
{
    struct worker *w = p->worker;
    const struct launch *l = &w->launch;
    Mprun__PmiWorld m = MPRUN__PMI_WORLD__INIT;
    char directory[160];
    AUTO_FREE Mprun__Placement *hosts = calloc(l->nhosts, sizeof(*hosts));
    AUTO_FREE Mprun__Placement **host_list = calloc(l->nhosts, sizeof(*host_list));
    AUTO_FREE Mprun__App *apps = calloc(l->step.napps, sizeof(*apps));
    AUTO_FREE Mprun__App **app_list = calloc(l->step.napps, sizeof(*app_list));
    AUTO_FREE ProtobufCBinaryData *argv0 = calloc(l->step.napps, sizeof(*argv0));
    AUTO_FREE char **bound = calloc(w->ranks.n + 1, sizeof(*bound));
    if (!hosts || !host_list || !apps || !app_list || !argv0 || !bound)
        return;
    pack_hosts(l, hosts, host_list);
    pack_apps(&l->step, apps, app_list, argv0);
    for (uint32_t i = 0; i < w->ranks.n; i++)
        bound[i] = w->binding.bound ? idset_format(&w->binding.ranks[i]) : strdup("");
    snprintf(directory, sizeof(directory), "%s/s", w->directory);
    mkdir(directory, 0700);
    m.world = l->world;
    m.nspace = (char *)(uintptr_t)l->step.nspace;
    m.nranks = l->step.nranks;
    m.n_hosts = l->nhosts;
    m.hosts = host_list;
    m.host_index = l->host_index;
    m.n_bound_threads = w->ranks.n;
    m.bound_threads = bound;
    m.directory = bytes_of(directory);
    m.n_apps = l->step.napps;
    m.apps = app_list;
    m.pmi = l->step.pmi;
    link_send(p->link, FRAME_PMI_WORLD, &m.base);
    for (uint32_t i = 0; i < w->ranks.n; i++)
        free(bound[i]);
}

void pmi_link_begin(struct pmi_link *p)
{
    if (!p->link)
        return;
    send_init(p);
    send_world(p);
    p->begun = 1;
    expect_answer(p);
}

int pmi_link_ready(const struct pmi_link *p)
{
    return p->env != NULL;
}

char *const *pmi_link_env(const struct pmi_link *p)
{
    return p->env;
}

/* ---- PMI-1: each rank has a connection of its own -------------------------------------------- */

static void put_le32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

/* The kernel completes the connection, and holds these bytes: the server need not be waited for.
 * Only a full queue makes connect() wait, which the time limit for sending bounds; the rank's own
 * use of the socket has none. */
static int connect_and_greet(int fd, const struct sockaddr_un *to, struct rank_name name)
{
    struct timeval limit = {.tv_sec = CONNECT_SECONDS}, none = {0};
    uint8_t hello[PMI1_HELLO];
    put_le32(hello, name.world);
    put_le32(hello + 4, name.rank);
    put_le32(hello + 8, name.incarnation);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
        connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0 ||
        fd_write_all(fd, hello, sizeof(hello)) < 0)
        return -1;
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
}

int pmi_link_connect_rank(struct pmi_link *p, struct rank_name name, struct error *err)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!p->pmi1.sun_path[0])
        return error_set(err, ENOTCONN, "connect to the PMI server: it does not serve PMI-1");
    if (fd >= 0 && connect_and_greet(fd, &p->pmi1, name) == 0)
        return take_fd(&fd);
    int why = errno;
    if (why == ECONNREFUSED) {
        p->refused = 1;
        expect_answer(p);
    }
    return error_errno(err, why, "connect to the PMI server at '%s' for PMI-1", p->pmi1.sun_path);
}

int pmi_link_refuses(const struct pmi_link *p)
{
    return p->refused;
}

void pmi_link_rank_gone(struct pmi_link *p, struct rank_name name)
{
    Mprun__PmiGone m = MPRUN__PMI_GONE__INIT;
    Mprun__RankName n;
    rank_name_pack(name, &n);
    m.name = &n;
    if (!p->link)
        return; /* it is about to end, and then nobody is asked */
    link_send(p->link, FRAME_PMI_GONE, &m.base);
    p->asked++;
    if (p->asked == 1)
        expect_answer(p);
}

void pmi_link_pass_down(struct pmi_link *p, enum frame_type type, const uint8_t *payload, size_t n)
{
    if (p->link)
        link_send_bytes(p->link, type, payload, n);
}

void pmi_link_end(struct pmi_link *p)
{
    if (p->ending)
        return;
    p->ending = 1;
    expect_answer(p);
    if (p->link)
        link_send_bytes(p->link, FRAME_PMI_END, NULL, 0);
}

void pmi_link_kill(struct pmi_link *p)
{
    if (p->pid <= 0)
        return;
    log_warn("the PMI server (mppmi, pid %d) on %s does not answer; killing it", (int)p->pid,
             p->worker->host_name);
    p->killed = 1;
    kill(p->pid, SIGKILL);
}

int pmi_link_ended(const struct pmi_link *p)
{
    return p->pid == 0;
}

const struct rusage *pmi_link_usage(const struct pmi_link *p)
{
    return &p->usage;
}
