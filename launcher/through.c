/* SPDX-License-Identifier: BSD-3-Clause */
/* through.c - hosts that are started by the starter of the host above them
 *
 * One client of the manager takes its time, and so many are on their way at once (fanout.h); of
 * many hosts mprun starts the first level, and each of these, when it has said HELLO, those below
 * it: an errand whose words are the adapter's. The client's output and status come back as news,
 * and are what they would be if mprun had started it. What cannot be started so, mprun starts. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "common/log.h"
#include "launcher/run.h"
#include "wire/tree.h"

enum { FROM_HOSTS = 192 }; /* bench/gridengine: as fast at 128, by a third at 256 */

void through_begin(struct run *r)
{
    int64_t from = r->cmd.start_tree;
    if (from < 0)
        from = r->cmd.start_concurrency ? 0 : FROM_HOSTS;
    r->starts_through = from > 0 && (int64_t)r->nused >= from && r->fanout > 0 &&
                        r->nused > r->fanout && r->adapter->words && errands_may_be_sent(r) &&
                        r->transport != TRANSPORT_STDIO;
}

int through_is_elsewhere(void *arg, size_t host)
{
    const struct run *r = arg;
    const struct host *h = r->launched[host];
    return r->starts_through && !h->direct && host_above(h);
}

static void start_directly(struct host *h)
{
    h->channel_open = 0;
    starters_forget(h);
    starters_retry(h);
}

/* A starter that could not connect may be able to by a start channel that leads to mprun. */
static int is_retried(struct host *h, int status)
{
    if (h->state != AGENT_STARTED || h->run->killing || !WIFEXITED(status) ||
        WEXITSTATUS(status) != EXIT_CODE_MPRUN || !start_channel_may_be_link(h))
        return 0;
    log_debug("host %s: it is started by mprun itself: %s", h->name, start_words_held(h));
    start_directly(h);
    return 1;
}

static void news(void *arg, const Mprun__ErrandNews *m)
{
    struct host *h = arg;
    if (!m || m->what == ERRAND_REFUSED || m->what == ERRAND_ENDED)
        h->errand = 0;
    if (!m && h->state < AGENT_CONNECTED && !h->run->killing) {
        log_debug("host %s: the host that has started it has gone", h->name);
    } else if (m && m->what == ERRAND_REFUSED) {
        log_debug("host %s: it is started by mprun itself: %.*s", h->name, (int)m->text.len,
                  (const char *)m->text.data);
        start_directly(h);
    } else if (m && m->what == ERRAND_SAID) {
        start_words_add(h, m->text.data, m->text.len);
    } else if (m && m->what == ERRAND_ENDED && !is_retried(h, m->status)) {
        starters_client_ended(h, m->status);
    }
    if (!m)
        starters_client_unknown(h);
}

static int send(struct host *from, struct host *h)
{
    struct run *r = h->run;
    const char *words[START_WORDS];
    ProtobufCBinaryData argv[START_WORDS];
    uint8_t packed[PREAMBLE_MAX];
    struct error e;
    Mprun__Errand m = MPRUN__ERRAND__INIT;
    m.n_argv = r->adapter->words(r->starting, (size_t)h->launch_index, words);
    int n = m.n_argv ? start_channel_preamble(h, 0, packed, &e) : -1;
    if (n < 0)
        return -1;
    for (size_t i = 0; i < m.n_argv; i++)
        argv[i] = bytes_of(words[i]);
    m.argv = argv;
    m.input = (ProtobufCBinaryData){.data = packed, .len = (size_t)n};
    h->errand = errand_send(from, &m, news, h);
    explicit_bzero(packed, sizeof(packed));
    return h->errand ? 0 : -1;
}

/* What comes of it may be there before the news that it has begun. */
static void start(struct host *from, struct host *h)
{
    if (send(from, h) < 0) {
        starters_retry(h);
        return;
    }
    log_debug("host %s: started from host %s", h->name, from->name);
    h->channel_open = 1;
    agent_enter(h, AGENT_STARTED);
    start_words_open(h, -1);
}

void through_reported(struct host *h)
{
    struct run *r = h->run;
    uint32_t self = (uint32_t)h->launch_index, nhosts = (uint32_t)r->nused;
    uint32_t first = tree_first_child(self, r->fanout, nhosts);
    if (!r->starts_through || r->killing)
        return;
    for (uint32_t i = 0; i < tree_children(self, r->fanout, nhosts); i++) {
        struct host *below = r->launched[first + i];
        if (below->state == AGENT_WAITING && !below->direct)
            start(h, below);
    }
}

/* Those that nobody has started yet are mprun's own now; after a cancel the adapter says so. */
void through_end(struct run *r)
{
    for (size_t i = 0; r->starts_through && i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (h->state == AGENT_WAITING && !h->direct && host_above(h))
            starters_retry(h);
    }
}
