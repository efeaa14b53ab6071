/* SPDX-License-Identifier: BSD-3-Clause */
/* server-stderr.c - see server-stderr.h */
#include "starter/pmi/server-stderr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/loop.h"
#include "starter/step-end.h"

struct server_stderr {
    const struct step_end *end;
    const char *host;
    struct loop_io *watch;
    int fd;
    char line[1024];
    size_t n;
};

/* Once ranks are being killed, the PMIx library complains of how their connections end: that is no
 * news. Its lines begin with "[host:pid]", those of mppmi itself do not. */
static void say_line(struct server_stderr *s)
{
    bool is_expected = s->line[0] == '[' && step_end_has_begun(s->end);
    s->line[s->n] = 0;
    if (s->n)
        log_msg(is_expected ? LOG_DEBUG : LOG_WARN, "mppmi on %s: %s", s->host, s->line);
    s->n = 0;
}

static void readable(void *arg, int fd, unsigned events)
{
    struct server_stderr *s = arg;
    char buf[1024];
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n <= 0) {
        say_line(s);
        loop_io_destroy(s->watch);
        s->watch = NULL;
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (buf[i] == '\n' || s->n == sizeof(s->line) - 1)
            say_line(s);
        if (buf[i] != '\n')
            s->line[s->n++] = buf[i];
    }
}

struct server_stderr *server_stderr_create(struct loop *loop, const struct step_end *end,
                                           const char *hostname, int *ret_write, struct error *err)
{
    int ends[2];
    struct server_stderr *s = calloc(1, sizeof(*s));
    if (!s || pipe2(ends, O_CLOEXEC) < 0) {
        error_errno(err, s ? errno : ENOMEM, "connect to the PMI server");
        free(s);
        return NULL;
    }
    *s = (struct server_stderr){.end = end, .host = hostname, .fd = ends[0]};
    s->watch = loop_io_create(loop, s->fd, LOOP_READ, readable, s);
    if (!s->watch) {
        close(ends[1]);
        server_stderr_destroy(s);
        error_errno(err, ENOMEM, "watch its messages");
        return NULL;
    }
    *ret_write = ends[1];
    return s;
}

void server_stderr_destroy(struct server_stderr *s)
{
    if (!s)
        return;
    loop_io_destroy(s->watch);
    cleanup_close(&s->fd);
    free(s);
}

void server_stderr_set_host(struct server_stderr *s, const char *name)
{
    s->host = name;
}
