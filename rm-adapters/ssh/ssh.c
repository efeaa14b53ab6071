/* SPDX-License-Identifier: BSD-3-Clause */
/* ssh.c - hosts that the user names, reached by ssh or another program of that kind
 *
 * Each host has a client of its own, in batch mode, so that nothing waits for an answer of the
 * user. The host that mprun itself runs on needs none. */
#include "rm-adapters/adapter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "rm-adapters/processes/start-many.h"
#include "rm-adapters/hosts/requested-hosts.h"
#include "rm-adapters/tunables.h"

/* ---- allocation ------------------------------------------------------------------------------ */

static bool ssh_detect(const struct host_request *request, char *reason, size_t n)
{
    bool is_named = request->nlists || request->nfiles;
    reason[0] = 0;
    if (is_named)
        snprintf(reason, n, "hosts are named with %s", request->nfiles ? "--hostfile" : "--host");
    return is_named;
}

static int ssh_read_allocation(const struct host_request *request, struct allocation *ret,
                               struct error *err)
{
    struct hostlist named = {.stated = 0};
    if (request->argument)
        return error_set(err, EINVAL, "'--rm ssh' takes no ':%.60s'; name hosts with --host",
                         request->argument);
    if (request->nlists == 0 && request->nfiles == 0)
        return error_set(err, EINVAL, "no host is named; write --host or --hostfile");
    if (named_read(request, &named, err) < 0)
        return -1;
    bool is_stated = named.stated;
    *ret = hostlist_take(&named);
    ret->may_oversubscribe = !is_stated;
    named_mark_here(ret);
    return 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

/* The program that starts a starter on another machine. */
struct client {
    char *path;       /* of the program */
    char *command;    /* for the other machine's shell */
    char **ssh_words; /* NULL with --agent */
    char **argv;      /* its words, which are the request's or ssh_words; host and command follow */
    size_t argc;
};

static void client_free(struct client *c)
{
    free(c->path);
    free(c->command);
    words_free(c->ssh_words);
    free(c->argv);
}

static void client_destroy(void *arg)
{
    client_free(arg);
    free(arg);
}

static char **make_ssh_words(double patience)
{
    char line[200];
    unsigned seconds = (unsigned)(patience / SSH_CONNECT_PARTS);
    if (seconds < SSH_CONNECT_SECONDS_MIN)
        seconds = SSH_CONNECT_SECONDS_MIN;
    snprintf(line, sizeof(line),
             "ssh -x -T -o BatchMode=yes -o ClearAllForwardings=yes -o RemoteCommand=none -o "
             "ConnectTimeout=%u",
             seconds);
    return must(words_split(line, NULL));
}

static int client_make(const struct start_request *r, struct client *c, struct error *err)
{
    AUTO_FREE char *path = word_quote(r->remote_path);
    size_t n = 0;
    c->ssh_words = r->agent ? NULL : make_ssh_words(r->patience);
    char *const *words = r->agent ? r->agent : c->ssh_words;
    while (words[n])
        n++;
    c->argv = must(calloc(n + 3, sizeof(*c->argv)));
    c->command = text_format("exec %s", path);
    memcpy(c->argv, words, n * sizeof(*words));
    c->argc = n;
    if (spawn_resolve(words[0], environ, NULL, &c->path, err) == 0)
        return 0;
    if (!r->agent)
        return error_context(
            err, "start hosts by ssh (install it, or name another program with --agent)");
    return error_context(err, "--agent");
}

static char **client_argv(struct client *c, const char *host)
{
    c->argv[c->argc] = (char *)(uintptr_t)host;
    c->argv[c->argc + 1] = c->command;
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
            at += (size_t)snprintf(buf + at, n - at, " %s", quoted);
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
                      : fanout_client(s, i, c->path, client_argv(c, host->name), ret, err);
}

static bool needs_client(const struct start_request *r)
{
    for (size_t i = 0; i < r->allocation->nhosts; i++)
        if (!r->allocation->hosts[i].here)
            return true;
    return false;
}

static struct starting *ssh_start(const struct start_request *request, struct error *err)
{
    static const struct fanout_way way = {.open = open_host, .destroy = client_destroy};
    struct client *c = must(calloc(1, sizeof(*c)));
    if (needs_client(request) && client_make(request, c, err) < 0) {
        client_destroy(c);
        return NULL;
    }
    return fanout_begin(request, &way, c);
}

/* ssh's own sentences. */
static void ssh_advise(const char *words, char *buf, size_t n)
{
    static const struct {
        const char *words, *advice;
    } known[] = {
        {"has changed and you have",
         "; if the host was installed anew, 'ssh-keygen -R HOST' forgets its old key"},
        {"Host key verification failed",
         "; make its key known, for example with ssh-keyscan, or connect once by hand"},
        {"Permission denied", "; ssh must get there without a question: by a key that ssh-agent "
                              "holds, or one without a passphrase"},
        {"Too many authentication failures", "; ssh offered too many keys: name the right one in "
                                             "~/.ssh/config (IdentityFile, IdentitiesOnly)"},
        {"Could not resolve hostname",
         "; is the name right? 'getent hosts NAME' shows whether this machine knows it"},
        {"Connection refused",
         "; no ssh server answers there: is the host meant, and does its sshd run?"},
        {"timed out",
         "; is the host up, and does a firewall let ssh through? 'ssh HOST true' tries it by hand"},
        {"No route to host", "; is the host up, and is its network the right one?"},
        {"Network is unreachable", "; this machine has no way to the network of that host"},
    };
    size_t i = 0;
    while (i < sizeof(known) / sizeof(*known) && !strstr(words, known[i].words))
        i++;
    snprintf(buf, n, "%s", i < sizeof(known) / sizeof(*known) ? known[i].advice : "");
}

/* Of a host whose key has changed ssh says so in fourteen lines: two suffice. */
static bool ssh_is_noise(const char *line)
{
    static const char *const words[] = {"@",
                                        "IT IS POSSIBLE THAT SOMEONE",
                                        "Someone could be eavesdropping",
                                        "It is also possible that a host key",
                                        "The fingerprint for the ",
                                        "SHA256:",
                                        "Please contact your system",
                                        "Add correct host key in",
                                        "Offending ",
                                        "  remove with:",
                                        "  ssh-keygen -f ",
                                        NULL};
    return begins_with_any(line, words);
}

const struct rm_adapter rm_adapter_ssh = {
    .name = "ssh",
    .detect = ssh_detect,
    .read_allocation = ssh_read_allocation,
    .start = ssh_start,
    .cancel = fanout_cancel,
    .destroy = fanout_destroy,
    .reported = fanout_reported,
    .hand_over = fanout_hand_over,
    .retry = fanout_again,
    .abandon = fanout_abandon,
    .describe = ssh_describe,
    .advise = ssh_advise,
    .is_noise = ssh_is_noise,
    .lost_code = 255,
    .gpu_env = RM_GPU_ENV,
    .stdio_channel = STDIO_PER_HOST,
    .unaccounted = "no resource manager accounts for what runs there",
};
