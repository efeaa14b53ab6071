/* SPDX-License-Identifier: BSD-3-Clause */
/* ssh.c - hosts that the user names, reached by ssh or another program of that kind
 *
 * One client per host, in batch mode, so that nothing can wait for an answer of the user; the host
 * that mprun itself runs on needs none. */
#include "rm-adapters/adapter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/interfaces.h"
#include "common/spawn.h"
#include "common/words.h"
#include "rm-adapters/fanout.h"
#include "rm-adapters/hostfile.h"
#include "rm-adapters/hostlist.h"

enum { CLIENT_WORDS = 16 };

/* ---- allocation ------------------------------------------------------------------------------ */

static int ssh_detect(char *reason, size_t n)
{
    snprintf(reason, n, "no hosts are named with --host or --hostfile");
    return 0;
}

static int read_lists(const struct host_request *r, struct hostlist *l, struct error *err)
{
    for (size_t i = 0; i < r->nlists; i++)
        if (hostlist_parse(r->lists[i], l, err) < 0)
            return error_context(err, "--host");
    return 0;
}

static int read_files(const struct host_request *r, struct hostlist *l, struct error *err)
{
    struct allocation *a = &l->allocation;
    for (size_t i = 0; i < r->nfiles; i++)
        if (hostfile_read(r->files[i], l, err) < 0)
            return -1;
    const char *file = r->nfiles == 1 ? r->files[0] : "...";
    const char *slash = strrchr(file, '/');
    if (r->nfiles)
        snprintf(a->source, sizeof(a->source), "host file '%.80s'%s", slash ? slash + 1 : file,
                 l->stated ? "" : ", one for each host, as it has no numbers");
    return 0;
}

/* What --host leaves of a host file: its hosts, with all their slots or as many as --host says. */
static int pick(struct hostlist *from, const struct alloc_host *h, struct hostlist *to,
                struct error *err)
{
    const struct alloc_host *in_file = hostlist_find(from, h->name);
    int all = h->slots.value == 1 && strcmp(h->slots.source, HOSTLIST_NO_NUMBER) == 0;
    if (!in_file)
        return error_set(err, EINVAL, "--host: '%.100s' is not in the host file", h->name);
    if (!all && h->slots.value > in_file->slots.value)
        return error_set(err, EINVAL, "--host: %u slots of '%.100s', which has %u (%s)",
                         h->slots.value, h->name, in_file->slots.value, in_file->slots.source);
    struct alloc_host *added = allocation_add_host(&to->allocation, h->name);
    if (!added)
        return error_errno(err, ENOMEM, "list the hosts");
    added->slots = all ? in_file->slots : h->slots;
    added->max_slots = in_file->max_slots;
    return 0;
}

static int filter(struct hostlist *files, const struct hostlist *lists, struct error *err)
{
    struct hostlist kept = {.stated = files->stated || lists->stated};
    memcpy(kept.allocation.source, files->allocation.source, sizeof(kept.allocation.source));
    for (size_t i = 0; i < lists->allocation.nhosts; i++) {
        if (pick(files, &lists->allocation.hosts[i], &kept, err) < 0) {
            hostlist_free(&kept);
            return -1;
        }
    }
    hostlist_free(files);
    *files = kept;
    return 0;
}

/* ---- this machine ---------------------------------------------------------------------------- */

struct self {
    char name[256]; /* "" unknown */
    struct interface addresses[INTERFACES_MAX];
    size_t naddresses;
};

static void self_find(struct self *s)
{
    int n = interfaces_list(s->addresses, INTERFACES_MAX, NULL);
    s->naddresses = n > 0 ? (size_t)n : 0;
    if (gethostname(s->name, sizeof(s->name)) < 0)
        s->name[0] = 0;
    s->name[sizeof(s->name) - 1] = 0;
}

/* By its name, the name's first part, "localhost", or an address. */
static int is_self(const struct self *s, const char *name)
{
    size_t first = strcspn(s->name, ".");
    if (strcasecmp(name, "localhost") == 0 || strcasecmp(name, s->name) == 0)
        return 1;
    if (first && strlen(name) == first && strncasecmp(name, s->name, first) == 0)
        return 1;
    return interfaces_have(s->addresses, s->naddresses, name);
}

/* Several names of this machine are one host. */
static void join_self(struct allocation *a)
{
    struct self s;
    struct alloc_host *self = NULL;
    size_t kept = 0;
    self_find(&s);
    for (size_t i = 0; i < a->nhosts; i++) {
        struct alloc_host *h = &a->hosts[i];
        h->here = is_self(&s, h->name);
        if (h->here && self) {
            self->slots.value += h->slots.value;
            self->max_slots = self->max_slots && h->max_slots ? self->max_slots + h->max_slots : 0;
            free(h->name);
            continue;
        }
        a->hosts[kept] = *h;
        if (h->here)
            self = &a->hosts[kept];
        kept++;
    }
    a->nhosts = kept;
}

static int gather(const struct host_request *r, struct hostlist *files, struct hostlist *lists,
                  struct error *err)
{
    snprintf(lists->allocation.source, sizeof(lists->allocation.source), "--host");
    if (read_files(r, files, err) < 0 || read_lists(r, lists, err) < 0)
        return -1;
    return r->nfiles && r->nlists ? filter(files, lists, err) : 0;
}

static int ssh_read_allocation(const struct host_request *request, struct allocation *ret,
                               struct error *err)
{
    struct hostlist files = {.stated = 0}, lists = {.stated = 0};
    if (request->argument)
        return error_set(err, EINVAL, "'--rm ssh' takes no ':%.60s'; name hosts with --host",
                         request->argument);
    if (request->nlists == 0 && request->nfiles == 0)
        return error_set(err, EINVAL, "no host is named; write --host or --hostfile");
    int rc = gather(request, &files, &lists, err);
    struct hostlist *l = request->nfiles ? &files : &lists;
    if (rc == 0) {
        l->allocation.adapter = rm_adapter_ssh.name;
        l->allocation.may_oversubscribe = !l->stated;
        *ret = hostlist_take(l);
        join_self(ret);
    }
    hostlist_free(&files);
    hostlist_free(&lists);
    return rc;
}

/* ---- the client ------------------------------------------------------------------------------ */

/* What starts a starter on another machine. */
struct client {
    char *path;    /* of the program */
    char *command; /* for the other machine's shell */
    char timeout[40];
    char *argv[CLIENT_WORDS + 64]; /* host and command are put at the end */
    size_t argc;
};

static void client_free(struct client *c)
{
    free(c->path);
    free(c->command);
}

static void client_destroy(void *arg)
{
    client_free(arg);
    free(arg);
}

static void set_ssh_words(struct client *c, double patience)
{
    static const char *const words[] = {"ssh",
                                        "-x",
                                        "-T",
                                        "-o",
                                        "BatchMode=yes",
                                        "-o",
                                        "ClearAllForwardings=yes",
                                        "-o",
                                        "RemoteCommand=none",
                                        "-o",
                                        NULL};
    unsigned seconds = patience >= 8 ? (unsigned)(patience / 4) : 2;
    for (c->argc = 0; words[c->argc]; c->argc++)
        c->argv[c->argc] = (char *)(uintptr_t)words[c->argc];
    snprintf(c->timeout, sizeof(c->timeout), "ConnectTimeout=%u", seconds);
    c->argv[c->argc++] = c->timeout;
}

static int set_agent_words(struct client *c, char *const *agent, struct error *err)
{
    for (c->argc = 0; agent[c->argc]; c->argc++) {
        if (c->argc == CLIENT_WORDS + 60)
            return error_set(err, E2BIG, "--agent: more than %d words", CLIENT_WORDS + 60);
        c->argv[c->argc] = agent[c->argc];
    }
    return 0;
}

static int client_make(const struct start_request *r, struct client *c, struct error *err)
{
    AUTO_FREE char *path = word_quote(r->remote_path);
    if (!path || asprintf(&c->command, "exec %s", path) < 0) {
        c->command = NULL;
        return error_errno(err, ENOMEM, "prepare the start of hosts");
    }
    if (!r->agent)
        set_ssh_words(c, r->patience);
    else if (set_agent_words(c, r->agent, err) < 0)
        return -1;
    if (spawn_resolve(c->argv[0], environ, NULL, &c->path, err) == 0)
        return 0;
    if (!r->agent)
        return error_context(err, "start hosts by ssh (install it, or name another program with "
                                  "--agent)");
    return error_context(err, "--agent");
}

static char **client_argv(struct client *c, const char *host)
{
    c->argv[c->argc] = (char *)(uintptr_t)host;
    c->argv[c->argc + 1] = c->command;
    c->argv[c->argc + 2] = NULL;
    return c->argv;
}

static void ssh_describe(const struct start_request *request, const struct alloc_host *host,
                         char *buf, size_t n)
{
    struct client c = {.argc = 0};
    struct error e;
    size_t at = 0;
    if (host->here) {
        snprintf(buf, n, "by mprun itself, as it is this machine: %s", request->starter_path);
        return;
    }
    if (client_make(request, &c, &e) < 0 && !c.argc) {
        snprintf(buf, n, "cannot be started: %s", e.text);
    } else {
        char **argv = client_argv(&c, host->name);
        at = (size_t)snprintf(buf, n, "by");
        for (size_t i = 0; argv[i] && at < n; i++) {
            AUTO_FREE char *quoted = word_quote(argv[i]);
            at += (size_t)snprintf(buf + at, n - at, " %s", quoted ? quoted : argv[i]);
        }
    }
    client_free(&c);
}

/* ---- start ----------------------------------------------------------------------------------- */

static int open_host(struct starting *s, size_t i, struct start_channel *ret, struct error *err)
{
    const struct alloc_host *host = &fanout_request(s)->allocation->hosts[i];
    struct client *c = fanout_arg(s);
    return host->here ? fanout_starter(s, i, ret, err)
                      : fanout_client(s, i, c->path, client_argv(c, host->name), 0, ret, err);
}

static int needs_client(const struct start_request *r)
{
    for (size_t i = 0; i < r->allocation->nhosts; i++)
        if (!r->allocation->hosts[i].here)
            return 1;
    return 0;
}

static struct starting *ssh_start(const struct start_request *request, struct error *err)
{
    static const struct fanout_way way = {.open = open_host, .destroy = client_destroy};
    unsigned at_once = request->concurrency ? request->concurrency : FANOUT_AT_ONCE;
    struct client *c = calloc(1, sizeof(*c));
    if (!c) {
        error_errno(err, ENOMEM, "start starters");
        return NULL;
    }
    if (needs_client(request) && client_make(request, c, err) < 0) {
        client_destroy(c);
        return NULL;
    }
    return fanout_begin(request, &way, c, at_once, err);
}

const struct rm_adapter rm_adapter_ssh = {
    .name = "ssh",
    .summary = "hosts named with --host or --hostfile, reached by ssh or --agent",
    .detect = ssh_detect,
    .read_allocation = ssh_read_allocation,
    .start = ssh_start,
    .cancel = fanout_cancel,
    .destroy = fanout_destroy,
    .reported = fanout_reported,
    .abandon = fanout_abandon,
    .describe = ssh_describe,
    .stdio_channel = STDIO_PER_HOST,
    .loose = "no resource manager accounts for what runs there",
};
