/* SPDX-License-Identifier: BSD-3-Clause */
/* thread-bridge.c - a locked list and an eventfd. The lock is held only for the few instructions of
 * a link or an unlink: a PMIx thread never waits for the loop. */
#include "pmix-server/thread-bridge.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
        item->run(item, b->server);
    }
}

int bridge_init(struct bridge *b, struct loop *loop, struct server *s, struct error *err)
{
    b->server = s;
    pthread_mutex_init(&b->lock, NULL);
    b->last = &b->first;
    b->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->wake_fd >= 0)
        b->io = loop_io_create(loop, b->wake_fd, LOOP_READ, bridge_woken, b);
    return b->io ? 0 : error_errno(err, errno, "make the queue of upcalls: eventfd");
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
    bool was_empty = !b->first;
    *b->last = item;
    b->last = &item->next;
    pthread_mutex_unlock(&b->lock);
    uint64_t one = 1;
    /* The eventfd's counter cannot fill up: there is one write per emptied list. */
    while (was_empty && write(b->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}
