/* SPDX-License-Identifier: BSD-3-Clause */
/* mprctl - what the user's steps of this host do; suspends and resumes them, ends jobs' agents
 *
 * It asks their mpruns over the steps' control sockets, and the holders of agents over theirs. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/files/step-directory.h"
#include "common/text/text.h"
#include "tools/tool.h"
#include "wire/messages/frame.h"
#include "wire/mprun.pb-c.h"
#include "wire/start-channel/holder-socket.h"
#include "wire/transport/address.h"
#include "wire/transport/dial.h"

enum { ANSWER_SECONDS = 10 };

struct options { /* texts are argv's */
    struct tool_request request;
    const char *verb;
    const char *which; /* step, or job; NULL: not given */
};

static const struct option_def option_table[] = {TOOL_OPTIONS, {.names = NULL}};

static int take_word(void *request, size_t n, char *word, struct error *err)
{
    struct options *o = request;
    if (n > 1)
        return error_set(err, EINVAL, "unexpected word '%.60s'", word);
    *(n == 0 ? &o->verb : &o->which) = word;
    return 0;
}

static bool is_verb(const char *word)
{
    return !strcmp(word, "status") || !strcmp(word, "suspend") || !strcmp(word, "resume") ||
           !strcmp(word, "down");
}

static int check(void *request, size_t words, struct error *err)
{
    const struct options *o = request;
    if (words > 0 && is_verb(o->verb))
        return 0;
    return error_set(err, EINVAL, "status, suspend, resume or down is wanted%s%.60s%s",
                     words ? " instead of '" : "", words ? o->verb : "", words ? "'" : "");
}

static const struct tool tool = {
    .name = "mprctl",
    .options = option_table,
    .take_word = take_word,
    .check = check,
    .usage =
        "Usage: mprctl status [STEP]\n"
        "       mprctl suspend|resume [STEP]\n"
        "       mprctl down [JOB]\n"
        "Say what your steps do whose mprun runs on this host; suspend all ranks of a step, or\n"
        "let them go on. STEP is the step's id; it can be left out where only one step runs.\n"
        "down ends the agents that mprun --keep has left on the hosts of JOB, or of all jobs.\n",
    .exit_codes =
        "Exit code: 0 done; 1 there is no such step or job, or it cannot, 2 wrong use. More is in\n"
        "mprctl(1).\n",
};

/* ---- the steps ------------------------------------------------------------------------------- */

struct steps {
    const char *wanted; /* id; NULL: all */
    char **sockets;
    size_t n;
};

static const char *id_of(const char *socket)
{
    return strrchr(socket, '/') - STEP_ID_LENGTH;
}

static void add_step(void *arg, int dir, const char *place, const char *name)
{
    struct steps *s = arg;
    const char *id = name + strlen(STEP_DIRECTORY);
    if ((s->wanted && strcmp(id, s->wanted) != 0) || !step_directory_is_own(dir, name))
        return;
    for (size_t i = 0; i < s->n; i++) /* two places may be one */
        if (!strncmp(id_of(s->sockets[i]), id, STEP_ID_LENGTH))
            return;
    s->sockets = must(reallocarray(s->sockets, s->n + 1, sizeof(*s->sockets)));
    s->sockets[s->n++] = text_format("%s/%s/control", place, name);
}

/* Where mprun makes its directory (launcher/socket-directory.c). */
static void find_steps(struct steps *s)
{
    static const char any[STEP_ID_LENGTH + 1] = "aaaaaaaaaaaa";
    const char *const places[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/dev/shm", "/tmp"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (places[i] && places[i][0] == '/')
            step_directories(places[i], any, DIRECTORY_OF_STEP, true, add_step, s);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int read_frame(int fd, struct frame_header *h, struct buffer *to, struct error *err)
{
    uint8_t head[FRAME_HEADER];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, ANSWER_SECONDS * 1000) == 0)
        return error_set(
            err, ETIMEDOUT,
            "its mprun does not answer; perhaps it is stopped itself, and SIGCONT continues it");
    if (fd_read_all(fd, head, sizeof(head)) < 0)
        return error_errno(err, errno, "read the answer");
    if (frame_header_unpack(head, h, err) < 0)
        return -1;
    if (fd_read_all(fd, buffer_reserve(to, h->length), h->length) < 0)
        return error_errno(err, errno, "read the answer");
    buffer_commit(to, h->length);
    return 0;
}

/* The answer, which the caller frees; NULL with err. */
static Mprun__StatusReply *ask(const char *socket, const Mprun__StatusRequest *m, struct error *err)
{
    struct frame_header h = {.type = FRAME_STATUS_REQUEST};
    uint8_t request[FRAME_HEADER + 16];
    AUTO(buffer_free) struct buffer b = {.data = NULL};
    char address[ADDRESS_TEXT];
    if (address_of_path("unix", socket, address) < 0)
        return error_null(
            error_set(err, ENAMETOOLONG, "'%.60s...' is too long for a socket", socket));
    AUTO_CLOSE int fd = dial_wait(address, ANSWER_SECONDS, err);
    if (fd < 0)
        return NULL;
    h.length = (uint32_t)mprun__status_request__pack(m, request + FRAME_HEADER);
    frame_header_pack(&h, request);
    int rc = fd_write_all(fd, request, FRAME_HEADER + h.length);
    if (rc < 0)
        error_errno(err, errno, "ask the step");
    for (h.flags = FRAME_MORE; rc == 0 && (h.flags & FRAME_MORE);)
        rc = read_frame(fd, &h, &b, err);
    Mprun__StatusReply *reply =
        rc == 0 ? mprun__status_reply__unpack(NULL, buffer_len(&b), buffer_ptr(&b)) : NULL;
    if (rc == 0 && !reply)
        error_set(err, EPROTO, "the answer cannot be read");
    return reply;
}

/* ---- what is done ---------------------------------------------------------------------------- */

static void print(const Mprun__StatusReply *m)
{
    printf("step %s is %s: %u of %u rank%s started, %u ended, on %u host%s, for %.0f s\n",
           m->step_id, m->suspended ? "suspended" : m->state, m->started, m->nranks,
           plural(m->nranks), m->ended, m->hosts, plural(m->hosts), m->seconds);
}

static int do_one(const struct options *o, const char *socket, struct error *err)
{
    Mprun__StatusRequest m = MPRUN__STATUS_REQUEST__INIT;
    m.suspend = !strcmp(o->verb, "suspend");
    m.resume = !strcmp(o->verb, "resume");
    Mprun__StatusReply *reply = ask(socket, &m, err);
    if (!reply)
        return error_context(err, "%s step %.*s", o->verb, STEP_ID_LENGTH, id_of(socket));
    int rc = 0;
    if (reply->refused[0])
        rc = error_set(err, EAGAIN, "%s step %s: %s", o->verb, reply->step_id, reply->refused);
    else
        print(reply);
    mprun__status_reply__free_unpacked(reply, NULL);
    return rc;
}

/* Is that what is found of a step that has ended since? */
static bool has_ended(int code)
{
    return code == ENOENT || code == ECONNREFUSED || code == EPIPE || code == ECONNRESET;
}

static int do_each(const struct options *o, const struct steps *s, struct error *err)
{
    char ids[200] = "";
    bool is_of_all = !s->wanted && !strcmp(o->verb, "status");
    size_t gone = 0;
    if (s->n == 0 && s->wanted)
        return error_set(err, ENOENT, "no step %.60s of yours has its mprun on this host",
                         s->wanted);
    for (size_t i = 0, len = 0; i < s->n && len < sizeof(ids); i++)
        len += (size_t)snprintf(ids + len, sizeof(ids) - len, "%s%.*s", i ? ", " : "",
                                STEP_ID_LENGTH, id_of(s->sockets[i]));
    if (s->n > 1 && strcmp(o->verb, "status") != 0)
        return error_set(err, EINVAL, "%s which step? These run: %s", o->verb, ids);
    int rc = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct error e;
        if (do_one(o, s->sockets[i], &e) == 0)
            continue;
        if (is_of_all && has_ended(e.code)) {
            gone++;
            continue;
        }
        if (rc < 0)
            log_error("%s", err->text);
        *err = e;
        rc = -1;
    }
    return gone == s->n ? error_set(err, ENOENT, "no step of yours has its mprun on this host")
                        : rc;
}

/* ---- the jobs' agents ------------------------------------------------------------------------ */

struct down {
    const char *wanted; /* the job's number; NULL: all */
    size_t n;           /* jobs so far */
    int rc;
    struct error *err;
};

/* Returns how many agents stay, because steps of the job run; -1 with err. */
static int end_agents(const char *job, struct error *err)
{
    struct holder_message m = {.what = HOLDER_DOWN, .size = 1};
    AUTO_CLOSE int fd = holder_connect(job, err);
    if (fd < 0)
        return err->code == ECONNREFUSED ? 0 : -1; /* it has just ended */
    int rc = holder_send(fd, &m, NULL);
    m.what = HOLDER_OVER;
    if (rc < 0 || holder_send(fd, &m, NULL) < 0)
        return error_errno(err, errno, "ask the holder of the agents");
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, ANSWER_SECONDS * 1000) == 0)
        return error_set(err, ETIMEDOUT,
                         "they have not ended within %d s; the end of the job ends them",
                         ANSWER_SECONDS);
    return holder_receive(fd, &m, NULL) > 0 ? m.value : 0;
}

/* An array's number stands for all of its tasks, which have it before a dot. */
static bool is_of(const char *number, const char *wanted)
{
    size_t n = strlen(wanted);
    return !strncmp(number, wanted, n) && (!number[n] || number[n] == '.');
}

static void down_one(void *arg, const char *job)
{
    struct down *d = arg;
    char name[HOLDER_JOB_MAX];
    const char *number = holder_job_number(job, name);
    if (d->rc < 0 || !number || (d->wanted && !is_of(number, d->wanted)))
        return;
    d->n++;
    int stay = end_agents(job, d->err);
    if (stay < 0)
        d->rc = error_context(d->err, "end the agents of job %s", name);
    else if (stay > 0)
        printf("job %s: %d agent%s end%s with the steps that run there\n", name, stay, plural(stay),
               stay == 1 ? "s" : "");
}

static int down(const struct options *o, struct error *err)
{
    struct down d = {.wanted = o->which, .err = err};
    if (holder_each(down_one, &d, err) < 0)
        return -1;
    if (d.rc == 0 && d.n == 0 && d.wanted)
        return error_set(err, ENOENT,
                         "no job %.60s of yours has its mprun's agents held on this host",
                         d.wanted);
    return d.rc;
}

static int run(const void *request, struct error *err)
{
    const struct options *o = request;
    struct steps s = {.wanted = o->which};
    if (!strcmp(o->verb, "down"))
        return down(o, err) < 0 ? TOOL_FAILED : TOOL_OK;
    find_steps(&s);
    int rc = do_each(o, &s, err);
    for (size_t i = 0; i < s.n; i++)
        free(s.sockets[i]);
    free(s.sockets);
    return rc < 0 ? TOOL_FAILED : TOOL_OK;
}

int main(int argc, char **argv)
{
    struct options o = {.verb = NULL};
    return tool_main(&tool, argc, argv, &o, run);
}
