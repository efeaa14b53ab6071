/* SPDX-License-Identifier: BSD-3-Clause */
/* server-stderr.c - lines that mppmi writes on its standard error; see pmi-private.h */
#include "starter/pmi/pmi-private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "starter/services.h"
#include "starter/ending/step-end.h"

/* The PMIx library's lines begin with "[host:pid]"; mppmi's own do not. Before mppmi serves they
 * are no news, because PMI_FAILED has the sentence. Nor are they while ranks are being killed: then
 * the library complains that their connections end. */
static void say_line(struct pmi_server *p)
{
    struct server_stderr *s = &p->text;
    bool is_expected = s->line[0] == '[' && (p->services->end->has_begun || !p->has_served);
    s->line[s->n] = 0;
    if (s->n)
        log_msg(is_expected ? LOG_DEBUG : LOG_WARN, "mppmi on %s: %s", p->host_name, s->line);
    s->n = 0;
}

static void readable(void *arg, int fd, unsigned events)
{
    struct pmi_server *p = arg;
    struct server_stderr *s = &p->text;
    char buf[1024];
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n <= 0) {
        say_line(p);
        loop_io_destroy(take_ptr(s->watch));
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (buf[i] == '\n' || s->n == sizeof(s->line) - 1)
            say_line(p);
        if (buf[i] != '\n')
            s->line[s->n++] = buf[i];
    }
}

int server_stderr_open(struct pmi_server *p, int *ret_write, struct error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, errno, "connect to the PMI server");
    *ret_write = ends[1];
    p->text.fd = ends[0];
    p->text.watch = loop_io_create(p->services->loop, ends[0], LOOP_READ, readable, p);
    return 0;
}

void server_stderr_close(struct pmi_server *p)
{
    loop_io_destroy(p->text.watch);
    cleanup_close(&p->text.fd);
}
