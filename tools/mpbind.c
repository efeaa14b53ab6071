/* SPDX-License-Identifier: BSD-3-Clause */
/* mpbind - a job's cores and limits of memory on this host, before or after it has come
 *
 * It asks mprund, which alone writes to cgroups. Root asks for whatever it likes; a user may wait
 * for its own job. */
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/text/number.h"
#include "containment/mprund-protocol.h"
#include "tools/tool.h"

enum { PAUSE_MS = 20 }; /* 100 requests a second are a user's */

/* mpbind(8), EXIT STATUS; the first three are those of every tool */
enum exit_code {
    OK = TOOL_OK,
    REFUSED = TOOL_FAILED,
    USAGE = TOOL_USAGE,
    NO_DAEMON = 3,
    NOT_IN_TIME = 4,
};

enum { WORDS = 4 }; /* JOB CORES MEM VMEM */

struct options { /* texts are argv's */
    struct tool_request request;
    bool unlimit, forget;
    bool strict;                     /* all of it, or nothing */
    double wait;                     /* seconds; below 0: not given */
    const char *user;                /* a name or a number; NULL: not given */
    const char *words[WORDS];        /* the job's name, and numbers as they were written */
    uint32_t cores;                  /* 0: all */
    uint64_t memory, virtual_memory; /* bytes, or GRANT_UNLIMITED */
};

static bool is_with_limits(const struct options *o)
{
    return !o->unlimit && !o->forget && o->wait < 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

#define INSTEAD "Instead of limits"
#define JOB     "The job"

static const struct option_def option_table[] = {
    {"--unlimit", NULL, INSTEAD,
     "Give the job what the resource manager's own daemon (sge_execd) has here; CORES, MEM and "
     "VMEM may follow and are not looked at",
     OPTION_SETS(OPTION_FLAG, struct options, unlimit)},
    {"--wait", "TIME", INSTEAD,
     "Wait until the job has its cgroup with its limits; root has it made if need be",
     OPTION_SETS(OPTION_SECONDS, struct options, wait)},
    {"--forget", NULL, INSTEAD, "Remove a job of which no process is here",
     OPTION_SETS(OPTION_FLAG, struct options, forget)},
    {"--strict", NULL, JOB,
     "Refuse what this host cannot hold, and then give the job nothing of it; without --strict it "
     "gets what can be held, and the rest is said",
     OPTION_SETS(OPTION_FLAG, struct options, strict)},
    {"--user", "NAME", JOB,
     "Whose the job is, by name or number, where it is not here yet; without it the manager's word "
     "counts, when it comes",
     OPTION_SETS(OPTION_TEXT, struct options, user)},
    TOOL_OPTIONS,
    {.names = NULL},
};

static int take_size(const char *text, const char *what, uint64_t *ret, struct error *err)
{
    *ret = GRANT_UNLIMITED;
    return strcmp(text, "0") == 0 ? 0 : size_parse(text, what, ret, err);
}

static int take_limits(struct options *o, struct error *err)
{
    int64_t cores;
    if (number_parse(o->words[1], "CORES", 0, UINT16_MAX, &cores, err) < 0 ||
        take_size(o->words[2], "MEM", &o->memory, err) < 0 ||
        take_size(o->words[3], "VMEM", &o->virtual_memory, err) < 0)
        return -1;
    o->cores = (uint32_t)cores;
    return 0;
}

static int take_word(void *request, size_t n, char *word, struct error *err)
{
    struct options *o = request;
    if (n == WORDS)
        return error_set(err, EINVAL, "unexpected word '%.60s'", word);
    o->words[n] = word;
    return 0;
}

static int check(void *request, size_t n, struct error *err)
{
    struct options *o = request;
    if (n == 0)
        return error_set(err, EINVAL, "which job? JOB[.TASK] is missing");
    if (!grant_is_job_name(o->words[0]))
        return error_set(err, EINVAL,
                         "'%.60s' is no job: 1 to 40 letters, digits, '.' and '_' are wanted, the "
                         "first a letter or digit",
                         o->words[0]);
    if (o->unlimit + o->forget + (o->wait >= 0) > 1)
        return error_set(err, EINVAL,
                         "--unlimit, --wait and --forget exclude each other; keep one");
    if (is_with_limits(o) && n != WORDS)
        return error_set(err, EINVAL,
                         "JOB[.TASK] CORES MEM VMEM are wanted, 0 for what is not to be limited");
    if (o->strict && !is_with_limits(o))
        return error_set(err, EINVAL, "--strict: no limits are given here; leave it out");
    if (n > 1 && (o->wait >= 0 || o->forget))
        return error_set(err, EINVAL, "'%.60s': one job is enough", o->words[1]);
    return is_with_limits(o) ? take_limits(o, err) : 0;
}

static const struct tool tool = {
    .name = "mpbind",
    .options = option_table,
    .take_word = take_word,
    .check = check,
    .usage =
        "Usage: mpbind [OPTION...] JOB[.TASK] CORES MEM VMEM\n"
        "       mpbind --unlimit|--wait TIME|--forget JOB[.TASK]\n"
        "Give a job's processes on this host, all together, cores and limits of memory (MEM), and\n"
        "of memory and swap (VMEM); 0 is no limit. Asks mprund, as root. The job need not have\n"
        "come to this host yet: it finds what was given to it.\n"
        "\n"
        "Examples:\n"
        "  mpbind 23.4 4 1073741824 0              four cores, 1 GiB, no limit of virtual memory\n"
        "  mpbind --user traine 23.4 8 16G 20G     on a host that the job will come to\n"
        "  mpbind --unlimit 23.4 0 0 0             as sge_execd itself\n"
        "  mpbind --wait 10s $JOB_ID               in a prolog\n",
    .exit_codes =
        "Exit code: 0 done; 1 mprund refused or could not, 2 wrong use, 3 no mprund runs\n"
        "here, 4 the job was not ready in time. More is in mpbind(8).\n",
};

/* ---- asking ---------------------------------------------------------------------------------- */

static int find_user(const char *user, uint32_t *ret, struct error *err)
{
    struct passwd *pw = getpwnam(user);
    int64_t uid = pw ? (int64_t)pw->pw_uid : 0;
    if (!pw && number_parse(user, NULL, 1, UINT32_MAX - 1, &uid, NULL) < 0)
        return error_set(err, EINVAL, "--user %s: there is no such user, and it is no number",
                         user);
    *ret = (uint32_t)uid;
    return uid ? 0 : error_set(err, EINVAL, "--user %s: no job is root's", user);
}

static int fill_request(const struct options *o, struct grant_request *q, struct error *err)
{
    grant_request_init(q, GRANT_BIND, GRANT_ANY);
    q->bind = o->unlimit     ? GRANT_BIND_UNLIMIT
              : o->forget    ? GRANT_BIND_FORGET
              : o->wait >= 0 ? GRANT_BIND_HAVE
              : o->strict    ? GRANT_BIND_TO
                             : GRANT_BIND_TRY;
    q->memory = o->memory;
    q->virtual_memory = o->virtual_memory;
    q->cores = o->cores;
    snprintf(q->job, sizeof(q->job), "%s", o->words[0]);
    return o->user ? find_user(o->user, &q->uid, err) : 0;
}

/* Why mprund did not answer: an exit code. */
static int no_answer(int code)
{
    if (code == ENOENT || code == ECONNREFUSED)
        return NO_DAEMON;
    /* it is slow, busy, or was started again in between */
    return code == EAGAIN || code == ETIMEDOUT || code == EPIPE || code == ECONNRESET ? NOT_IN_TIME
                                                                                      : REFUSED;
}

/* Asks, and waits for one answer for so many seconds. Returns an exit code. */
static int ask(const struct grant_request *q, double seconds, struct grant_answer *ret,
               struct error *err)
{
    AUTO_CLOSE int fd = grant_send_patiently(q, GRANT_ANSWER_S, err);
    if (fd < 0 || grant_receive(fd, seconds, ret, err) < 0)
        return no_answer(errno);
    if (ret->result == GRANT_OK)
        return OK;
    error_set(err, EPERM, "mprund says: %s", ret->text);
    return ret->result == GRANT_BUSY ? NOT_IN_TIME : REFUSED;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool is_named(const struct grant_answer *a, const char *job)
{
    size_t n = strlen(job);
    int is_number = job[strspn(job, "0123456789")] == 0;
    return !strcmp(a->job, job) ||
           (is_number && !strncmp(a->job, job, n) && !strcmp(a->job + n, ".1"));
}

/* Is the job here, with all that will be known of it? An exit code; with NOT_IN_TIME err's text
 * says why, or is "": it is not yet. */
static int look(const char *job, double seconds, struct error *err)
{
    struct grant_request q;
    struct grant_answer a;
    int ready = 0;
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    *err = (struct error){.code = 0};
    AUTO_CLOSE int fd = grant_send_patiently(&q, GRANT_ANSWER_S, err);
    if (fd < 0)
        return no_answer(errno);
    while (grant_receive(fd, seconds, &a, err) == 0) {
        if (a.result == GRANT_OK)
            return ready ? OK : NOT_IN_TIME;
        if (a.result != GRANT_MORE) {
            error_set(err, EPERM, "mprund says: %s", a.text);
            return a.result == GRANT_BUSY ? NOT_IN_TIME : REFUSED;
        }
        ready |= is_named(&a, job) && !a.pending &&
                 (a.state == GRANT_RUNNING || a.state == GRANT_EXPECTED);
    }
    return no_answer(errno);
}

/* How many seconds an answer is waited for: no longer than there is time, but one always. */
static double answer_seconds(double end)
{
    double left = end - loop_now();
    return left > GRANT_ANSWER_S ? GRANT_ANSWER_S : left > 1 ? left : 1;
}

/* As root the job is made first. An mprund that lives is asked again until the time is over. An
 * exit code. */
static int wait_for(const struct options *o, const struct grant_request *q, struct error *err)
{
    double end = loop_now() + o->wait;
    struct grant_answer a;
    int code, is_made = geteuid() != 0;
    for (;;) {
        if (!is_made)
            is_made = (code = ask(q, answer_seconds(end), &a, err)) == OK;
        if (is_made)
            code = look(o->words[0], answer_seconds(end), err);
        if (code != NOT_IN_TIME || err->code == ETIMEDOUT || loop_now() >= end)
            break;
        poll(NULL, 0, PAUSE_MS);
    }
    if (code == NOT_IN_TIME && err->code == ETIMEDOUT)
        return code;
    if (code == NOT_IN_TIME && err->text[0])
        error_context(err, "it was not ready within %g s", o->wait);
    else if (code == NOT_IN_TIME)
        error_set(err, ETIMEDOUT, "it was not ready within %g s", o->wait);
    return code;
}

/* ---- binding --------------------------------------------------------------------------------- */

static int bind_now(const struct options *o, const struct grant_request *q, struct error *err)
{
    struct grant_answer a;
    int code = ask(q, GRANT_ANSWER_S, &a, err);
    if (code == OK && q->bind == GRANT_BIND_TRY && a.text[0])
        log_warn("job %s: not held here: %s", o->words[0], a.text);
    return code == NOT_IN_TIME ? REFUSED : code;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int run(const void *request, struct error *err)
{
    const struct options *o = request;
    const char *doing = o->unlimit ? "unlimit" : o->forget ? "forget" : "bind";
    struct grant_request q;
    if (fill_request(o, &q, err) < 0)
        return USAGE;
    int code = o->wait >= 0 ? wait_for(o, &q, err) : bind_now(o, &q, err);
    if (code != OK)
        error_context(err, "%s job %s", o->wait >= 0 ? "wait for" : doing, o->words[0]);
    return code;
}

int main(int argc, char **argv)
{
    struct options o = {.wait = -1};
    return tool_main(&tool, argc, argv, &o, run);
}
