/* SPDX-License-Identifier: BSD-3-Clause */
/* A locked list and an eventfd. The lock is held for the few instructions of a link or an unlink
 * only: a PMIx thread never waits for the loop. */
#include "pmix-server/thread-bridge.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct bridge {
    pthread_mutex_t lock;
    struct bridge_item *first, **last; /* under lock */
    int wake_fd;
    struct loop_io *io;
};

static struct bridge_item *take_all(struct bridge *b)
{
    pthread_mutex_lock(&b->lock);
    struct bridge_item *list = b->first;
    b->first = NULL;
    b->last = &b->first;
    pthread_mutex_unlock(&b->lock);
    return list;
}

static void bridge_woken(void *arg, int fd, unsigned events)
{
    struct bridge *b = arg;
    uint64_t count;
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return;
    struct bridge_item *next;
    for (struct bridge_item *item = take_all(b); item; item = next) {
        next = item->next;
        item->run(item);
    }
}

struct bridge *bridge_create(struct loop *loop, struct error *err)
{
    struct bridge *b = calloc(1, sizeof(*b));
    if (!b) {
        error_errno(err, ENOMEM, "make the queue of upcalls");
        return NULL;
    }
    pthread_mutex_init(&b->lock, NULL);
    b->last = &b->first;
    b->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->wake_fd >= 0)
        b->io = loop_io_create(loop, b->wake_fd, LOOP_READ, bridge_woken, b);
    if (!b->io) {
        error_errno(err, errno, "make the queue of upcalls: eventfd");
        bridge_destroy(b);
        return NULL;
    }
    return b;
}

void bridge_destroy(struct bridge *b)
{
    if (!b)
        return;
    loop_io_destroy(b->io);
    if (b->wake_fd >= 0)
        close(b->wake_fd);
    struct bridge_item *next;
    for (struct bridge_item *item = take_all(b); item; item = next) {
        next = item->next;
        free(item);
    }
    pthread_mutex_destroy(&b->lock);
    free(b);
}

bool bridge_is_empty(struct bridge *b)
{
    pthread_mutex_lock(&b->lock);
    bool empty = !b->first;
    pthread_mutex_unlock(&b->lock);
    return empty;
}

void bridge_post(struct bridge *b, struct bridge_item *item)
{
    item->next = NULL;
    pthread_mutex_lock(&b->lock);
    int was_empty = !b->first;
    *b->last = item;
    b->last = &item->next;
    pthread_mutex_unlock(&b->lock);
    uint64_t one = 1;
    /* The counter of an eventfd cannot fill up: one write per emptied list. */
    while (was_empty && write(b->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}
