/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/agent/local-mpruns.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "wire/little-endian.h"
#include "wire/start-channel/agent-channel.h"
#include "wire/start-channel/holder-socket.h"

void local_mpruns_listen(struct local_mpruns *l, const char *job, const uint8_t *key)
{
    struct error e;
    if (l->listen_fd >= 0)
        return;
    l->key = key;
    l->listen_fd = holder_listen(job, &e);
    if (l->listen_fd < 0)
        log_debug("mpruns on this host do not reach the job's agents through this one: %s", e.text);
}

void local_mpruns_close(struct local_mpruns *l)
{
    cleanup_close(&l->listen_fd);
    for (size_t i = 0; i < l->n; i++)
        close(l->all[i].fd);
    free(l->all);
    *l = (struct local_mpruns){.listen_fd = -1};
}

/* n 0: the mprun has gone. */
static void tell_holder(struct local_mpruns *l, uint32_t mprun, const void *data, size_t n)
{
    char line[AGENT_LINE_MAX];
    size_t length = agent_pass_line(mprun, ++l->lines, data, n, l->key, line);
    if (fd_write_all(STDOUT_FILENO, line, length) < 0)
        log_debug("the holder of the job's agents does not hear an mprun of this host");
    explicit_bzero(line, sizeof(line));
}

static void forget(struct local_mpruns *l, struct local_mprun *m)
{
    close(m->fd);
    *m = l->all[--l->n];
}

static void take_mprun(struct local_mpruns *l)
{
    int fd = holder_accept(l->listen_fd);
    l->is_full = fd < 0 && (errno == EMFILE || errno == ENFILE);
    if (fd < 0)
        return;
    l->all = must(reallocarray(l->all, l->n + 1, sizeof(*l->all)));
    l->all[l->n++] = (struct local_mprun){.fd = fd, .number = ++l->last};
}

static void pass_up(struct local_mpruns *l, uint32_t mprun, const struct holder_message *m)
{
    uint8_t packed[HOLDER_PACKED_MAX];
    size_t n = holder_message_pack(m, packed);
    for (size_t at = 0; at < n; at += AGENT_PASS_MAX)
        tell_holder(l, mprun, packed + at, n - at < AGENT_PASS_MAX ? n - at : AGENT_PASS_MAX);
    explicit_bzero(packed, sizeof(packed));
}

/* Returns whether the mprun is still there. */
static bool take_messages(struct local_mpruns *l, const struct local_mprun *from)
{
    struct holder_message m;
    int rc;
    while ((rc = holder_receive(from->fd, &m, NULL)) > 0)
        pass_up(l, from->number, &m);
    explicit_bzero(&m, sizeof(m));
    return rc < 0;
}

void local_mpruns_poll(struct local_mpruns *l, struct polled *p)
{
    polled_add(p, l->is_full ? -1 : l->listen_fd, POLLIN);
    l->is_full = false;
    for (size_t i = 0; i < l->n; i++)
        polled_add(p, l->all[i].fd, POLLIN);
}

/* Begins with the last one, because forget() moves that one. */
void local_mpruns_take(struct local_mpruns *l, const struct pollfd *p)
{
    for (size_t i = l->n; i-- > 0;)
        if (p[1 + i].revents && !take_messages(l, &l->all[i])) {
            tell_holder(l, l->all[i].number, NULL, 0);
            forget(l, &l->all[i]);
        }
    if (p[0].revents)
        take_mprun(l);
}

/* An mprun that reads nothing, or that the holder is done with, is forgotten. */
void local_mpruns_pass(struct local_mpruns *l, const uint8_t *data, size_t n)
{
    struct holder_message m;
    size_t i = 0;
    if (n < 4)
        return;
    while (i < l->n && l->all[i].number != get32(data))
        i++;
    if (i == l->n)
        return;
    if (holder_message_unpack(data + 4, n - 4, &m) > 0 && holder_send(l->all[i].fd, &m, NULL) == 0)
        return;
    if (n > 4)
        tell_holder(l, l->all[i].number, NULL, 0);
    forget(l, &l->all[i]);
}
