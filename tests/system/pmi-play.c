/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/system/pmi-play.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/loop.h"
#include "common/files/path.h"
#include "common/processes/reaper.h"
#include "model/step.h"
#include "plan/topology.h"
#include "wire/link/link.h"
#include "wire/mprun.pb-c.h"
#include "tests/unit/patience.h"

extern char **environ;

/* ---- the launcher's part --------------------------------------------------------------------- */

static int awaited(void *arg, uint32_t host)
{
    return 1;
}

static void complete(void *arg, const Mprun__Collect *m)
{
    struct play *p = arg;
    Mprun__Collected answer = MPRUN__COLLECTED__INIT;
    struct buffer all = {0};
    for (size_t i = 0; i < m->n_parts; i++)
        buffer_append(&all, m->parts[i]->data.data, m->parts[i]->data.len);
    answer.signature = m->signature;
    answer.turn = m->turn;
    answer.data = (ProtobufCBinaryData){.len = buffer_len(&all), .data = buffer_ptr(&all)};
    for (size_t i = 0; i < m->n_parts; i++)
        link_send(p->hosts[m->parts[i]->host].link, FRAME_COLLECTED, &answer.base);
    buffer_free(&all);
}

static void reply_name(void *host, const Mprun__NameReply *m)
{
    link_send(((struct play_host *)host)->link, FRAME_NAME_REPLY, &m->base);
}

static void on_name_request(struct play_host *h, const uint8_t *payload, size_t n)
{
    Mprun__NameRequest *m = mprun__name_request__unpack(NULL, n, payload);
    if (!m || name_service_request(&h->play->names, h, m) < 0)
        abort();
    mprun__name_request__free_unpacked(m, NULL);
}

static void on_collect(struct play_host *h, const uint8_t *payload, size_t n)
{
    struct play *p = h->play;
    struct error e;
    p->rules = (struct gather_rules){
        .nhosts = (uint32_t)p->options.nhosts, .awaited = awaited, .complete = complete};
    if (!p->gather)
        p->gather = gather_create(&p->rules, p);
    p->collects++;
    if (gather_add(p->gather, payload, n, &e) < 0) {
        fprintf(stderr, "pmi-play: %s\n", e.text);
        abort();
    }
}

static void on_modex_request(struct play_host *h, const uint8_t *payload, size_t n)
{
    Mprun__ModexRequest *m = mprun__modex_request__unpack(NULL, n, payload);
    h->play->requests++;
    m->from_host = (uint32_t)h->index;
    link_send(h->play->hosts[h->play->ranks[m->name->rank].host].link, FRAME_MODEX_REQUEST,
              &m->base);
    mprun__modex_request__free_unpacked(m, NULL);
}

static void on_modex_reply(struct play_host *h, const uint8_t *payload, size_t n)
{
    Mprun__ModexReply *m = mprun__modex_reply__unpack(NULL, n, payload);
    h->play->replies++;
    link_send(h->play->hosts[m->to_host].link, FRAME_MODEX_REPLY, &m->base);
    mprun__modex_reply__free_unpacked(m, NULL);
}

/* ---- the starter's part ---------------------------------------------------------------------- */

static void step(struct play *p)
{
    if (p->finished && p->finished(p))
        loop_stop(p->loop);
}

static void on_ready(struct play_host *h, const uint8_t *payload, size_t n)
{
    Mprun__PmiReady *m = mprun__pmi_ready__unpack(NULL, n, payload);
    h->env = calloc(m->n_env + 1, sizeof(*h->env));
    for (size_t i = 0; i < m->n_env; i++)
        h->env[h->nenv++] = strndup((char *)m->env[i].data, m->env[i].len);
    mprun__pmi_ready__free_unpacked(m, NULL);
}

static void on_client(struct play *p, const uint8_t *payload, size_t n)
{
    Mprun__PmiClient *m = mprun__pmi_client__unpack(NULL, n, payload);
    struct play_rank *r = &p->ranks[m->name->rank];
    if (m->connected)
        r->connects++;
    else
        r->finalizes++;
    mprun__pmi_client__free_unpacked(m, NULL);
}

static void on_gone(struct play *p, const uint8_t *payload, size_t n)
{
    Mprun__PmiGone *m = mprun__pmi_gone__unpack(NULL, n, payload);
    struct play_rank *r = &p->ranks[m->name->rank];
    r->gone = 1;
    r->finalizes_at_end = r->finalizes;
    mprun__pmi_gone__free_unpacked(m, NULL);
}

static void send_gone(struct play *p, int rank)
{
    Mprun__PmiGone m = MPRUN__PMI_GONE__INIT;
    Mprun__RankName name = MPRUN__RANK_NAME__INIT;
    struct play_host *h = &p->hosts[p->ranks[rank].host];
    name.rank = (uint32_t)rank;
    m.name = &name;
    if (h->closed)
        p->ranks[rank].gone = 1;
    else
        link_send(h->link, FRAME_PMI_GONE, &m.base);
}

static void on_aborted(struct play *p, const uint8_t *payload, size_t n)
{
    Mprun__Aborted *m = mprun__aborted__unpack(NULL, n, payload);
    p->aborted++;
    p->abort_rank = (int)m->name->rank;
    p->abort_code = m->code;
    p->aborted_before_gone = !p->ranks[m->name->rank].gone;
    mprun__aborted__free_unpacked(m, NULL);
    if (!p->options.leave_running)
        play_kill_ranks(p, SIGKILL);
}

static void on_failed(struct play_host *h, const uint8_t *payload, size_t n)
{
    Mprun__PmiFailed *m = mprun__pmi_failed__unpack(NULL, n, payload);
    snprintf(h->failed, sizeof(h->failed), "%s", m->text);
    mprun__pmi_failed__free_unpacked(m, NULL);
}

static void on_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *payload,
                     size_t n)
{
    struct play_host *h = arg;
    switch (type) {
    case FRAME_PMI_READY:
        on_ready(h, payload, n);
        break;
    case FRAME_PMI_CLIENT:
        on_client(h->play, payload, n);
        break;
    case FRAME_PMI_GONE:
        on_gone(h->play, payload, n);
        break;
    case FRAME_PMI_FAILED:
        on_failed(h, payload, n);
        break;
    case FRAME_ABORTED:
        on_aborted(h->play, payload, n);
        break;
    case FRAME_COLLECT:
        on_collect(h, payload, n);
        break;
    case FRAME_NAME_REQUEST:
        on_name_request(h, payload, n);
        break;
    case FRAME_MODEX_REQUEST:
        on_modex_request(h, payload, n);
        break;
    case FRAME_MODEX_REPLY:
        on_modex_reply(h, payload, n);
        break;
    default:
        fprintf(stderr, "pmi-play: message %s from mppmi\n", frame_type_text(type));
        abort();
    }
    step(h->play);
}

static void on_closed(void *arg, struct link *l, const struct error *why)
{
    struct play_host *h = arg;
    h->closed = 1;
    for (int i = 0; i < h->play->nranks; i++)
        if (h->play->ranks[i].host == h->index && h->play->ranks[i].pid == 0)
            h->play->ranks[i].gone = 1;
    step(h->play);
}

static const struct link_events events = {.frame = on_frame, .closed = on_closed};

/* ---- processes ------------------------------------------------------------------------------- */

static void mppmi_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct play_host *h = arg;
    h->mppmi = 0;
    h->mppmi_status = status;
    step(h->play);
}

static void rank_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct play *p = arg;
    for (int i = 0; i < p->nranks; i++) {
        struct play_rank *r = &p->ranks[i];
        if (r->pid != pid)
            continue;
        r->pid = 0;
        r->status = status;
        send_gone(p, i);
        if (status && p->first_bad < 0)
            p->first_bad = i;
        if (status && !p->options.leave_running)
            play_kill_ranks(p, SIGKILL);
    }
    step(p);
}

static void on_signal(void *arg, int signo)
{
    struct play *p = arg;
    reaper_collect(p->reaper);
}

static const char *mppmi_path(char *buf, size_t n)
{
    const char *build = getenv("MPRUN_BUILD");
    snprintf(buf, n, "%s/pmix-server/mppmi", build ? build : ".");
    return buf;
}

/* It inherits its link as 3, and the socket for PMI-1 as 4. */
static pid_t exec_mppmi(int fd, int pmi1)
{
    char path[4096];
    mppmi_path(path, sizeof(path));
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int last = fcntl(pmi1, F_DUPFD, 10);
    dup2(fd, 3);
    dup2(last, 4);
    closefrom(5);
    execl(path, "mppmi", "--fd", "3", (char *)NULL);
    fprintf(stderr, "exec %s: %s\n", path, strerror(errno));
    _exit(127);
}

static int listen_for_pmi1(const struct play_host *h)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", h->pmi1_socket);
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, SOMAXCONN) < 0)
        return -1;
    return take_fd(&fd);
}

static int start_host(struct play *p, int i, struct error *err)
{
    static const struct link_options trusted = {.role = LINK_TRUSTED};
    struct play_host *h = &p->hosts[i];
    *h = (struct play_host){.play = p, .index = i};
    snprintf(h->name, sizeof(h->name), "vm-%d", i);
    snprintf(h->directory, sizeof(h->directory), "%s/host-%d", p->top, i);
    snprintf(h->pmi1_socket, sizeof(h->pmi1_socket), "%s/pmi", h->directory);
    int fds[2];
    AUTO_CLOSE int pmi1 = -1;
    if (mkdir(h->directory, 0700) < 0 || (pmi1 = listen_for_pmi1(h)) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return error_errno(err, errno, "prepare host %d", i);
    h->mppmi = exec_mppmi(fds[1], pmi1);
    close(fds[1]);
    if (h->mppmi < 0)
        return error_errno(err, errno, "fork");
    reaper_add(p->reaper, h->mppmi, mppmi_ended, h);
    h->link = link_create(p->loop, fds[0], fds[0], &trusted, h->name, &events, h, err);
    return h->link ? 0 : -1;
}

static int read_topology(struct play *p, struct error *err)
{
    struct topology *t = topology_load(NULL, err);
    if (!t)
        return -1;
    const char *xml = topology_xml(t, &p->nxml);
    p->xml = malloc(p->nxml + 1);
    memcpy(p->xml, xml, p->nxml);
    p->xml[p->nxml] = 0;
    topology_destroy(t);
    return 0;
}

static int prepare(struct play *p, struct error *err)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    snprintf(p->top, sizeof(p->top), "%s/pmi-play.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(p->top))
        return error_errno(err, errno, "mkdtemp");
    p->loop = loop_create(err);
    p->reaper = reaper_create(NULL, NULL);
    if (!p->loop || loop_signals(p->loop, &child, on_signal, p, err) < 0)
        return -1;
    name_service_init(&p->names, p->loop, NULL, reply_name);
    for (int i = 0; i < p->options.nhosts; i++)
        if (start_host(p, i, err) < 0)
            return -1;
    return p->options.no_topology ? 0 : read_topology(p, err);
}

struct play *play_create(const struct play_options *o, struct error *err)
{
    struct play *p = calloc(1, sizeof(*p));
    p->options = *o;
    p->nranks = o->nhosts * o->ranks_per_host;
    p->first_bad = -1;
    p->started = loop_now();
    for (int i = 0; i < p->nranks; i++) {
        p->ranks[i].host = i / o->ranks_per_host;
        p->ranks[i].local = i % o->ranks_per_host;
    }
    if (prepare(p, err) == 0)
        return p;
    play_destroy(p);
    return NULL;
}

static void host_free(struct play_host *h)
{
    link_destroy(h->link);
    for (size_t i = 0; i < h->nenv; i++)
        free(h->env[i]);
    free(h->env);
    if (h->mppmi > 0) {
        kill(h->mppmi, SIGKILL);
        waitpid(h->mppmi, NULL, 0);
    }
}

void play_destroy(struct play *p)
{
    if (!p)
        return;
    play_kill_ranks(p, SIGKILL);
    for (int i = 0; i < p->nranks; i++)
        if (p->ranks[i].pid > 0)
            waitpid(p->ranks[i].pid, NULL, 0);
    for (int i = 0; i < p->options.nhosts; i++)
        host_free(&p->hosts[i]);
    gather_destroy(p->gather);
    name_service_free(&p->names);
    reaper_destroy(p->reaper);
    loop_destroy(p->loop);
    path_remove_tree(p->top, NULL);
    free(p->xml);
    free(p);
}

/* ---- messages to mppmi ----------------------------------------------------------------------- */

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
}

static void send_init(const struct play_host *h)
{
    Mprun__PmiInit m = MPRUN__PMI_INIT__INIT;
    m.directory = bytes_of(h->directory);
    m.hostname = bytes_of(h->name);
    m.simple_pmi_fd = h->play->options.pmi1 ? 4 : 0;
    if (h->play->xml)
        m.topology_xml = (ProtobufCBinaryData){h->play->nxml, (uint8_t *)h->play->xml};
    link_send(h->link, FRAME_PMI_INIT, &m.base);
}

static void world_bindings(const struct play *p, Mprun__PmiWorld *m, char *texts[])
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 0; p->options.bind && i < p->options.ranks_per_host; i++)
        if (asprintf(&texts[m->n_bound_threads], "%ld", i % cpus) > 0)
            m->n_bound_threads++;
    m->bound_threads = texts;
}

/* Unlike for two plays at once: Open MPI names shared memory after it. */
static void new_nspace(char *buf, size_t n)
{
    uint64_t random[2] = {0, 0};
    AUTO_CLOSE int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        fd_read_all(fd, random, sizeof(random));
    snprintf(buf, n, "%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
}

static void send_world(const struct play_host *h, const char *nspace)
{
    const struct play *p = h->play;
    Mprun__Placement placements[PLAY_HOSTS_MAX], *hosts[PLAY_HOSTS_MAX];
    uint32_t ranks[PLAY_HOSTS_MAX][3];
    char *texts[PLAY_RANKS_MAX];
    ProtobufCBinaryData argv0 = bytes_of("probe");
    Mprun__App app = MPRUN__APP__INIT, *apps = &app;
    Mprun__PmiWorld m = MPRUN__PMI_WORLD__INIT;
    for (int i = 0; i < p->options.nhosts; i++) {
        mprun__placement__init(&placements[i]);
        placements[i].host = bytes_of(p->hosts[i].name);
        ranks[i][0] = (uint32_t)(i * p->options.ranks_per_host);
        ranks[i][1] = 1;
        ranks[i][2] = (uint32_t)p->options.ranks_per_host;
        placements[i].n_ranks = 3;
        placements[i].ranks = ranks[i];
        hosts[i] = &placements[i];
    }
    app.n_argv = 1;
    app.argv = &argv0;
    app.directory = bytes_of("/");
    app.count = (uint32_t)p->nranks;
    m.nspace = (char *)nspace;
    m.nranks = (uint32_t)p->nranks;
    m.universe = m.nranks;
    m.n_hosts = (size_t)p->options.nhosts;
    m.hosts = hosts;
    m.host_index = (uint32_t)h->index;
    m.n_apps = 1;
    m.apps = &apps;
    m.pmi = PMI_KIND_PMIX | (p->options.pmi1 ? PMI_KIND_PMI1 : 0);
    world_bindings(p, &m, texts);
    link_send(h->link, FRAME_PMI_WORLD, &m.base);
    link_flush(h->link);
    for (size_t i = 0; i < m.n_bound_threads; i++)
        free(texts[i]);
}

void play_begin(struct play *p)
{
    char nspace[64];
    new_nspace(nspace, sizeof(nspace));
    for (int i = 0; i < p->options.nhosts; i++) {
        send_init(&p->hosts[i]);
        send_world(&p->hosts[i], nspace);
    }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

enum { ENV_EXTRA = 32 };

static void set(char **env, size_t *n, const char *fmt, const char *text, int number)
{
    if (asprintf(&env[*n], fmt, text ? text : "", number) > 0)
        (*n)++;
}

static void common_env(const struct play_host *h, char **env, size_t *n)
{
    for (size_t i = 0; i < h->nenv; i++)
        env[(*n)++] = strdup(h->env[i]);
    for (size_t i = 0; h->play->options.env && h->play->options.env[i]; i++)
        env[(*n)++] = strdup(h->play->options.env[i]);
    set(env, n, "OMPI_MCA_pml=ob1%.0s", "", 0);
    set(env, n, "OMPI_MCA_btl=self,vader,tcp%.0s", "", 0);
    set(env, n, "OMPI_MCA_mpi_yield_when_idle=1%.0s", "", 0);
    set(env, n, "OMPI_COMM_WORLD_SIZE=%s%d", "", h->play->nranks);
    /* in /dev/shm the segments of ranks that abort would stay */
    set(env, n, "OMPI_MCA_btl_vader_backing_directory=%s", h->directory, 0);
    if (h->play->options.nhosts > 1)
        set(env, n, "OMPI_MCA_btl_tcp_if_include=lo%.0s", "", 0);
}

static char **rank_env(const struct play *p, int rank, int pmi1)
{
    const struct play_host *h = &p->hosts[p->ranks[rank].host];
    size_t n = 0, extra = 0;
    while (p->options.env && p->options.env[extra])
        extra++;
    for (char **e = environ; *e; e++)
        extra++;
    char **env = calloc(h->nenv + extra + ENV_EXTRA, sizeof(*env));
    common_env(h, env, &n);
    set(env, &n, "PMIX_RANK=%s%d", "", rank);
    set(env, &n, "OMPI_COMM_WORLD_RANK=%s%d", "", rank);
    if (pmi1 >= 0) {
        set(env, &n, "PMI_FD=%s%d", "", pmi1);
        set(env, &n, "PMI_RANK=%s%d", "", rank);
        set(env, &n, "PMI_SIZE=%s%d", "", p->nranks);
    }
    set(env, &n, "OMPI_COMM_WORLD_LOCAL_RANK=%s%d", "", p->ranks[rank].local);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "PMIX_", 5) && strncmp(*e, "PMI_", 4) && strncmp(*e, "OMPI_", 5))
            env[n++] = strdup(*e);
    return env;
}

static void output_path(const struct play *p, int rank, char *buf, size_t n)
{
    snprintf(buf, n, "%s/out.%d", p->top, rank);
}

/* A descriptor for a rank's PMI-1; -1 without. */
static int connect_pmi1(const struct play *p, int rank)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *path = p->hosts[p->ranks[rank].host].pmi1_socket;
    uint8_t hello[12] = {0, 0, 0, 0, (uint8_t)rank, (uint8_t)(rank >> 8)};
    if (!p->options.pmi1)
        return -1;
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
                    fd_write_all(fd, hello, sizeof(hello)) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void exec_rank(const struct play *p, int rank, char *const argv[], char **env, int pmi1)
{
    if (pmi1 >= 0)
        fcntl(pmi1, F_SETFD, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    char path[256] = "/dev/null";
    if (p->options.keep_output)
        output_path(p, rank, path, sizeof(path));
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    execve(argv[0], argv, env);
    _exit(127);
}

int play_spawn(struct play *p, char *const argv[], struct error *err)
{
    for (int i = 0; i < p->nranks; i++) {
        int pmi1 = connect_pmi1(p, i);
        char **env = rank_env(p, i, pmi1);
        pid_t pid = fork();
        if (pid == 0)
            exec_rank(p, i, argv, env, pmi1);
        if (pmi1 >= 0)
            close(pmi1);
        for (size_t k = 0; env[k]; k++)
            free(env[k]);
        free(env);
        if (pid < 0)
            return error_errno(err, errno, "fork rank %d", i);
        p->ranks[i].pid = pid;
        reaper_add(p->reaper, pid, rank_ended, p);
    }
    p->spawned = loop_now();
    return 0;
}

void play_kill_ranks(struct play *p, int signo)
{
    for (int i = 0; i < p->nranks; i++)
        if (p->ranks[i].pid > 0)
            kill(p->ranks[i].pid, signo);
}

/* ---- phases ---------------------------------------------------------------------------------- */

int play_is_ready(const struct play *p)
{
    for (int i = 0; i < p->options.nhosts; i++)
        if (!p->hosts[i].env && !p->hosts[i].failed[0] && !p->hosts[i].closed)
            return 0;
    return 1;
}

int play_all_ended(const struct play *p)
{
    for (int i = 0; i < p->nranks; i++)
        if (p->ranks[i].pid > 0 || !p->ranks[i].gone)
            return 0;
    return 1;
}

static int servers_ended(const struct play *p)
{
    for (int i = 0; i < p->options.nhosts; i++)
        if (p->hosts[i].mppmi > 0 || !p->hosts[i].closed)
            return 0;
    return 1;
}

static void time_is_up(void *arg)
{
    struct play *p = arg;
    p->timed_out = 1;
    loop_stop(p->loop);
}

int play_until(struct play *p, int (*finished)(const struct play *p))
{
    if (finished(p))
        return 0;
    struct loop_timer t;
    loop_timer_init(&t, p->loop, time_is_up, p);
    loop_timer_start(&t, p->options.seconds > 0 ? p->options.seconds : patience(60), 0);
    p->finished = finished;
    loop_run(p->loop);
    p->finished = NULL;
    loop_timer_stop(&t);
    return p->timed_out ? -1 : 0;
}

int play_end(struct play *p)
{
    Mprun__PmiEnd m = MPRUN__PMI_END__INIT;
    for (int i = 0; i < p->options.nhosts; i++)
        link_send(p->hosts[i].link, FRAME_PMI_END, &m.base);
    int rc = play_until(p, servers_ended);
    p->ended = loop_now();
    return rc;
}

int play_run(struct play *p, char *const argv[])
{
    struct error err;
    play_begin(p);
    if (play_until(p, play_is_ready) < 0)
        return -1;
    p->ready = loop_now();
    if (play_spawn(p, argv, &err) < 0 || play_until(p, play_all_ended) < 0)
        return -1;
    return play_end(p);
}

char *play_output(const struct play *p, int rank)
{
    char path[256];
    output_path(p, rank, path, sizeof(path));
    return file_slurp_at(AT_FDCWD, path, 1 << 20, NULL);
}

int play_leftovers(const struct play *p, int host)
{
    AUTO_DIR DIR *d = opendir(p->hosts[host].directory);
    int n = 0;
    struct dirent *e;
    while (d && (e = readdir(d)))
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    return n;
}

const char *play_env(const struct play_host *h, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < h->nenv; i++)
        if (!strncmp(h->env[i], name, n) && h->env[i][n] == '=')
            return h->env[i] + n + 1;
    return NULL;
}
