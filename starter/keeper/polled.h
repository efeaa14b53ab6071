/* SPDX-License-Identifier: BSD-3-Clause */
/* polled.h - the descriptors that poll() waits for, whose array is kept for all turns: allocating
 * it in each turn would fragment the heap of a process that stays for thousands of steps */
#pragma once

#include <poll.h>
#include <stdlib.h>

#include "common/must.h"

struct polled { /* all zero: empty */
    struct pollfd *all;
    size_t n, room;
};

/* fd < 0: poll() passes over it. */
static inline void polled_add(struct polled *p, int fd, short events)
{
    if (p->n == p->room) {
        p->room = 2 * p->room + 8;
        p->all = must(reallocarray(p->all, p->room, sizeof(*p->all)));
    }
    p->all[p->n++] = (struct pollfd){.fd = fd, .events = events};
}
